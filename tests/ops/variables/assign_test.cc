#include <doctest/doctest.h>

#include <limits>

#include "towerflow/tf.h"

namespace towerflow {
namespace {

template <class T>
void check_wrapping() {
  const T most = std::numeric_limits<T>::max(), least = std::numeric_limits<T>::min();
  Graph graph;
  const auto guard = graph.as_default();
  const Variable v(Array::of<T>({2}, std::vector<T>{most, least}), {.name = "v"});
  const Tensor one = constant(Array::of<T>({2}, std::vector<T>{1, 1}));
  Session session;
  const auto is = [&](const Tensor& value, T first, T second) {
    CHECK(session.run(value) == Array::of<T>({2}, std::vector<T>{first, second}));
  };
  session.run(global_variables_initializer());
  is(assign_add(v, one), least, static_cast<T>(least + 1));
  is(assign_sub(v, one), most, least);
  is(scatter_add(v, {0, 1}, one), least, static_cast<T>(least + 1));
  is(scatter_sub(v, {0, 1}, one), most, least);
  is(assign_sub(v, constant(Array::of<T>({2}, std::vector<T>{most, 1}))), 0, most);
}

TEST_CASE("a variable keeps its shape, with validate_shape = false too") {
  Graph graph;
  const auto guard = graph.as_default();
  const Variable w = get_variable("w", {2});
  CHECK_THROWS_WITH_AS(assign(w, {1.0F, 2.0F, 3.0F}, {.validate_shape = false}),
                       doctest::Contains("The variable has the shape (2,) and cannot change to "
                                         "that of the value, (3,)"),
                       errors::UnimplementedError);
  assign(w, {1.0F, 2.0F}, {.validate_shape = false});
}

TEST_CASE("integers that a variable is changed by wrap around") {
  check_wrapping<std::int8_t>();
  check_wrapping<std::int32_t>();
  check_wrapping<std::int64_t>();
}

/// Returns numbers whose sums are rounded in floating-point types.
template <class T>
std::vector<T> numbers(std::int64_t count, std::int64_t factor) {
  std::vector<T> values;
  for (std::int64_t i = 0; i < count; ++i) {
    values.push_back(static_cast<T>(static_cast<T>(i * factor % 1009) / static_cast<T>(7)));
  }
  return values;
}

template <class T>
void check_large(int threads) {
  CAPTURE(threads);
  const std::int64_t count = 200003;
  const auto start = numbers<T>(count, 37), change = numbers<T>(count, 53);
  auto added = start, back = start;
  for (std::size_t i = 0; i < added.size(); ++i) {
    added[i] = start[i] + change[i];
    back[i] = added[i] - change[i];
  }
  Graph graph;
  const auto guard = graph.as_default();
  const Variable v(Array::of<T>({count}, start), {.name = "v"});
  const Tensor value = placeholder(v.dtype(), {.shape = Shape{count}});
  const Tensor plus = assign_add(v, value), minus = assign_sub(v, value), equal = assign(v, value);
  const Tensor itself = assign(v, v);
  Session session({.intra_op_parallelism_threads = threads});
  session.run(global_variables_initializer());
  const Feeds feeds{{value, Array::of<T>({count}, change)}};
  CHECK(session.run(plus, feeds) == Array::of<T>({count}, added));
  CHECK(session.run(minus, feeds) == Array::of<T>({count}, back));
  CHECK(session.run(itself) == Array::of<T>({count}, back));
  CHECK(session.run(equal, feeds) == Array::of<T>({count}, change));
}

TEST_CASE("large variables are changed by several threads as by a plain loop") {
  for (const int threads : {1, 3}) {
    check_large<float>(threads);
    check_large<double>(threads);
    check_large<std::int32_t>(threads);
    check_large<std::int64_t>(threads);
  }
}

/// Checks rows of this width, updated through many indices that repeat each row often.
template <class T>
void check_rows(std::int64_t width, int threads) {
  CAPTURE(width);
  CAPTURE(threads);
  const std::int64_t rows = 7, named = 300000 / width;
  const auto start = numbers<T>(rows * width, 37), updates = numbers<T>(named * width, 53);
  std::vector<std::int32_t> indices;
  for (std::int64_t i = 0; i < named; ++i) {
    indices.push_back(static_cast<std::int32_t>(i * i % rows));
  }
  auto expected = start;
  for (std::size_t i = 0; i < updates.size(); ++i) {
    const auto columns = static_cast<std::size_t>(width);
    expected[static_cast<std::size_t>(indices[i / columns]) * columns + i % columns] -= updates[i];
  }
  Graph graph;
  const auto guard = graph.as_default();
  const Variable v(Array::of<T>({rows, width}, start), {.name = "v"});
  const Tensor which = placeholder(int32, {.shape = Shape{named}});
  const Tensor change = constant(Array::of<T>({named, width}, updates));
  const Tensor minus = scatter_sub(v, which, change), plus = scatter_add(v, which, change);
  Session session({.intra_op_parallelism_threads = threads});
  session.run(global_variables_initializer());
  const Array given = Array::of<std::int32_t>({named}, indices);
  CHECK(session.run(minus, {{which, given}}) == Array::of<T>({rows, width}, expected));
  for (std::size_t i = 0; i < updates.size(); ++i) {
    const auto columns = static_cast<std::size_t>(width);
    expected[static_cast<std::size_t>(indices[i / columns]) * columns + i % columns] += updates[i];
  }
  CHECK(session.run(plus, {{which, given}}) == Array::of<T>({rows, width}, expected));
  indices.back() = static_cast<std::int32_t>(rows);
  const Array wrong = Array::of<std::int32_t>({named}, indices);
  CHECK_THROWS_AS(session.run(minus, {{which, wrong}}), errors::InvalidArgumentError);
  CHECK(session.run(v) == Array::of<T>({rows, width}, expected));
}

TEST_CASE("rows are changed by several threads in the order of their indices") {
  for (const int threads : {1, 3}) {
    for (const std::int64_t width : {1, 3, 16, 40, 200, 1000}) {
      check_rows<float>(width, threads);
      check_rows<double>(width, threads);
      check_rows<std::int32_t>(width, threads);
    }
  }
}

}  // namespace
}  // namespace towerflow
