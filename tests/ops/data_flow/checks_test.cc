// What checks say at run time, what is printed, and functions of the program.
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

#include "core/graph/log.h"
#include "towerflow/tf.h"

namespace towerflow {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

/// Returns the message of the InvalidArgumentError of a run; "" if there is none.
std::string failure(const Fetch& fetch, const Feeds& feeds = {}) {
  Session session(fetch.operation().graph());
  try {
    session.run(fetch, feeds);
  } catch (const errors::InvalidArgumentError& error) {
    return error.message();
  }
  return "";
}

TEST_CASE("assertions show the values as TensorFlow does") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = placeholder(float32, Shape{2, 3}, {.name = "x"});
  const Feeds feeds{{x, {{1.0, 2.0, 3.0}, {-4.0, 5.5, 1e6}}}};
  CHECK(failure(assert_positive(x, {.message = "m"}), feeds) ==
        "assertion failed: [m.  ] [Condition x > 0 did not hold element-wise:] [x (x:0) = ] [[1 2 "
        "3]...]");
  const Operation less = assert_less(x, {3.0, 0.0, 1.0}, {.summarize = 4});
  CHECK(failure(less, feeds) ==
        "assertion failed: [Condition x < y did not hold element-wise:] [x (x:0) = ] [[1 2 "
        "3][-4...]...] [y (assert_less/y:0) = ] [3 0 1]");
  CHECK(failure(assert_positive(x), {{x, {{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}}}}) == "");
  CHECK(failure(assert_non_negative(x), {{x, {{0.0, 2.0, 3.0}, {4.0, 5.0, kNan}}}}) != "");
  CHECK_THROWS_AS(assert_less({1, 2}, 2), const errors::InvalidArgumentError&);
  CHECK_THROWS_AS(assert_equal({1, 2}, {1, 3}), const errors::InvalidArgumentError&);
  CHECK_NOTHROW(assert_greater_equal({{1, 2}, {3, 4}}, {1, 2}));
  CHECK_THROWS_AS(assert_none_equal({{1, 2}, {3, 4}}, {7, 2}), const errors::InvalidArgumentError&);
}

TEST_CASE("ranks that are known only at run time") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor q = placeholder(float32, {.name = "q"});
  const Feeds matrix{{q, {{1.0, 2.0}}}};
  CHECK(failure(assert_rank(q, 3), matrix) ==
        "assertion failed: [] [Tensor q:0 must have rank] [3] [Received shape: ] [1 2]");
  CHECK(failure(assert_rank(q, 2), matrix) == "");
  CHECK(failure(assert_rank_at_least(q, 2), matrix) == "");
  CHECK(failure(assert_rank_at_least(q, 3), matrix) != "");
  CHECK(failure(assert_rank_in(q, {1, 2}), matrix) == "");
  CHECK(failure(assert_rank_in(q, {1, 3}), matrix) ==
        "assertion failed: [] [Tensor q:0 must have rank in] [1] [3] [Received shape: ] [1 2]");
  CHECK(failure(ensure_shape(q, {None, 3}), matrix).starts_with("Shape of tensor"));
  const Tensor rank = placeholder(int32, Shape::unknown(), {.name = "r"});
  CHECK(failure(assert_rank(q, rank), {{q, {{1.0, 2.0}}}, {rank, 2}}) == "");
  CHECK(failure(assert_rank(q, rank), {{q, {{1.0, 2.0}}}, {rank, {2}}}) != "");
}

TEST_CASE("numbers that are not finite") {
  Graph graph;
  const auto guard = graph.as_default();
  for (const DType dtype : {float32, float64}) {
    const Tensor x = placeholder(dtype, Shape{3});
    const Tensor checked = check_numerics(x, "m");
    CHECK(failure(checked, {{x, {1.0, kNan, 2.0}}}) == "m : Tensor had NaN values");
    CHECK(failure(checked, {{x, {1.0, -kInf, 2.0}}}) == "m : Tensor had Inf values");
    CHECK(failure(checked, {{x, {1.0, kInf, kNan}}}) == "m : Tensor had Inf and NaN values");
    CHECK(failure(verify_tensor_all_finite(x, "n"), {{x, {kNan, 1.0, 2.0}}}) ==
          "n : Tensor had NaN values");
    const Tensor slope = gradients(check_numerics(sqrt(x), "s"), {x})[0]->dense();
    CHECK(failure(slope, {{x, {1.0, 0.0, 2.0}}}) == "");
  }
  Graph second;
  const auto second_guard = second.as_default();
  const Tensor x = placeholder(float32, Shape{1}, {.name = "x"});
  log(x, {.name = "a"});
  sqrt(x, {.name = "b"});
  CHECK(failure(add_check_numerics_ops(), {{x, {-1.0}}}) == "a:0 : Tensor had NaN values");
}

TEST_CASE("Print writes a line for each run, first_n times in a session") {
  std::vector<std::string> lines;
  const LogSink before =
      set_log_sink([&](LogLevel, std::string_view text) { lines.emplace_back(text); });
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = constant({{1.0, 2.0, 3.0}, {-4.0, 5.5, 1e6}});
  const OperandList data{x,
                         Operand({"a", "b"}),
                         true,
                         0.1,
                         123456.7,
                         constant(1.0 / 3, {.dtype = float64}),
                         Operand({{{1, 2}, {3, 4}}, {{5, 6}, {7, 8}}})};
  const Tensor printed = Print(x, data, {.message = "m: ", .summarize = 5});
  const Tensor twice = Print(x, {x}, {.first_n = 2, .summarize = 0});
  Session session;
  CHECK(session.run(printed).data<float>()[4] == 5.5F);
  REQUIRE(lines.size() == 1);
  CHECK(lines[0] ==
        "m: [[1 2 3][-4 5.5...]...][a b][1][0.1][123456.703][0.33333333333333331][[[1 2][3 "
        "4]][[5...]]...]");
  for (int i = 0; i < 3; ++i) session.run(twice);
  CHECK(lines.size() == 3);
  CHECK(lines[2] == "[...]");
  set_log_sink(before);
}

TEST_CASE("functions of the program") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = constant({1.0, 2.0, 3.0});
  int calls = 0;
  const auto statistics = [&calls](const std::vector<Array>& in) {
    ++calls;
    const float* values = in[0].data<float>();
    return std::vector<Array>{Array::scalar(values[0] + values[1] + values[2]),
                              Array::scalar(static_cast<std::int64_t>(in[0].elements()))};
  };
  const std::vector<Tensor> both = py_func(statistics, {x}, {float32, int64});
  Session session;
  const auto [sum, count] = session.run({both[0], both[1]});
  CHECK(sum.item<float>() == 6);
  CHECK(count.item<std::int64_t>() == 3);
  CHECK(calls == 1);
  CHECK(both[0].op().type() == "PyFunc");
  CHECK_FALSE(both[0].shape().has_rank());

  const auto product = [](const Array& a, const Array& b) {
    return Array::scalar(a.item<float>() * b.item<float>());
  };
  const auto slopes = [](const Operation& op, const std::vector<OptionalGradient>& dys) {
    const Tensor dy = dys[0]->dense();
    return std::vector<OptionalGradient>{dy * op.input(1), dy * op.input(0)};
  };
  const Tensor a = constant(3.0), b = constant(5.0);
  const Tensor c = py_func(product, {a, b}, float32, {.stateful = false, .gradient = slopes});
  CHECK(c.op().type() == "PyFuncStateless");
  CHECK(session.run(gradients(c, {a})[0]->dense()).item<float>() == 5);
  CHECK_FALSE(gradients(both[0], {x})[0].has_value());
  CHECK_THROWS_WITH_AS(graph.as_graph_def(), doctest::Contains("PyFunc"),
                       const errors::UnimplementedError&);
}

TEST_CASE("errors of functions of the program") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor one = constant(1);
  const auto with = [&](auto function) { return py_func(function, {one}, int32); };
  CHECK(failure(with([](const Array&) -> Array { throw ValueError("boo"); })) == "ValueError: boo");
  CHECK(failure(with([](const Array& x) {
          return std::vector<Array>{x, x};
        })).ends_with("returns 2 values, but expects to see 1 values."));
  CHECK(failure(with([](const Array&) {
          return Array::scalar(1.5);
        })).starts_with("0-th value returned by pyfunc_"));
  CHECK(failure(with([](const Array&) { return Array(); })) != "");
  Session session;
  const auto broken = with([](const Array&) -> Array { throw std::runtime_error("disk"); });
  CHECK_THROWS_WITH_AS(session.run(broken), doctest::Contains("disk"), const errors::UnknownError&);
  const auto ended = with([](const Array&) -> Array { throw errors::OutOfRangeError("end"); });
  CHECK_THROWS_AS(session.run(ended), const errors::OutOfRangeError&);
}

TEST_CASE("check_numerics finds a value in every slice of a large tensor") {
  constexpr std::int64_t kElements = 1 << 20;
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = placeholder(float32);
  const Tensor checked = check_numerics(x, "checked");
  Session session(graph, ConfigProto{.intra_op_parallelism_threads = 4});
  Array values(float32, Shape{kElements});
  for (std::int64_t i = 0; i < kElements; ++i) values.data<float>()[i] = static_cast<float>(i);
  const Array same = session.run(checked, {{x, values}});
  const auto wanted = values.flat<float>(), found = same.flat<float>();
  CHECK(std::equal(wanted.begin(), wanted.end(), found.begin()));
  for (std::int64_t at = 1; at < kElements; at += kElements / 16 - 1) {
    CAPTURE(at);
    Array broken = Array::zeros(float32, Shape{kElements});
    broken.data<float>()[at] = std::numeric_limits<float>::infinity();
    CHECK_THROWS_AS(session.run(checked, {{x, broken}}), errors::InvalidArgumentError);
  }
}

TEST_CASE("Print is added to the graph of its tensor, wherever that stands") {
  Graph other;
  Tensor x;
  {
    const auto guard = other.as_default();
    x = constant(1.0);
  }
  Graph graph;
  const auto guard = graph.as_default();
  const std::size_t before = graph.size();
  CHECK(&Print(x, {1.0, "text"}).graph() == &other);
  CHECK(&Print(2.0, {x, 3.0}).graph() == &other);
  CHECK(graph.size() == before);
}

}  // namespace
}  // namespace towerflow
