#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "core/device/cpu/cpu_backend.h"
#include "tests/support/eager.h"
#include "tests/support/grad_check.h"
#include "towerflow/tf.h"

namespace towerflow {
namespace {

using testing::numbers;

/// One line of golden/cumsum.txt.
struct GoldenCase {
  DType dtype = DType::invalid;
  int axis = 0;
  bool exclusive = false, reverse = false;
  Array x, y;
};

Array parsed(DType dtype, const Shape& shape, const std::string& text) {
  Array array(dtype, shape);
  std::istringstream words(text);
  std::string word;
  dispatch_dtype(dtype, [&]<class T>() {
    for (std::int64_t i = 0; i < array.elements(); ++i) {
      words >> word;
      array.data<T>()[i] = std::is_floating_point_v<T>
                               ? static_cast<T>(std::strtod(word.c_str(), nullptr))
                               : static_cast<T>(std::strtoll(word.c_str(), nullptr, 10));
    }
  });
  REQUIRE(static_cast<bool>(words));
  CHECK_FALSE(static_cast<bool>(words >> word));
  return array;
}

std::vector<GoldenCase> recorded() {
  const std::vector<std::pair<std::string, DType>> dtypes = {
      {"float32", float32}, {"float64", float64}, {"int32", int32},  {"int8", int8},
      {"uint8", uint8},     {"int64", int64},     {"uint16", uint16}};
  std::vector<GoldenCase> cases;
  std::ifstream file("tests/ops/math/golden/cumsum.txt");
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    std::string name, sizes, how, x, y;
    for (std::string* field : {&name, &sizes, &how, &x, &y}) std::getline(fields, *field, ';');
    GoldenCase made;
    for (const auto& [known, dtype] : dtypes) {
      if (known == name) made.dtype = dtype;
    }
    REQUIRE(made.dtype != DType::invalid);
    std::vector<Dim> dims;
    std::istringstream words(sizes);
    for (std::int64_t size = 0; words >> size;) dims.push_back(size);
    std::istringstream(how) >> made.axis >> made.exclusive >> made.reverse;
    made.x = parsed(made.dtype, Shape(dims), x);
    made.y = parsed(made.dtype, Shape(dims), y);
    cases.push_back(made);
  }
  return cases;
}

/// Returns whether bits are equal, except that any NaN equals any other.
bool bits_match(const Array& a, const Array& b) {
  bool equal = a.dtype() == b.dtype() && a.shape() == b.shape();
  dispatch_dtype(a.dtype(), [&]<class T>() {
    for (std::int64_t i = 0; equal && i < a.elements(); ++i) {
      const T x = a.data<T>()[i], y = b.data<T>()[i];
      equal = std::memcmp(&x, &y, sizeof(T)) == 0 || (x != x && y != y);
    }
  });
  return equal;
}

TEST_CASE("what TensorFlow computes") {
  const auto cases = recorded();
  REQUIRE(cases.size() == 147);
  for (const GoldenCase& c : cases) {
    CAPTURE(dtype_name(c.dtype));
    CAPTURE(c.x.shape().text());
    CAPTURE(c.axis);
    CAPTURE(c.exclusive);
    CAPTURE(c.reverse);
    Graph graph;
    const auto guard = graph.as_default();
    const CumsumOptions options{.exclusive = c.exclusive, .reverse = c.reverse};
    // Once with everything known to the plan, and once with shapes and axis known only at run time.
    CHECK(bits_match(testing::value_of(cumsum(c.x, c.axis, options)), c.y));
    const Tensor x = placeholder(c.dtype);
    const Tensor axis = placeholder(int32);
    const Array at = testing::array_of(int32, {}, {static_cast<double>(c.axis)});
    CHECK(bits_match(testing::value_of(cumsum(x, axis, options), {{x, c.x}, {axis, at}}), c.y));
  }
}

/// Runs one kernel of the table on a float tensor and returns its result.
Array run_kernel(const KernelEntry& entry, const Array& x, const Tensor& y, int axis) {
  const Array at = testing::array_of(int32, {}, {static_cast<double>(axis)});
  KernelRequest request{.op = y.op().node().op,
                        .attrs = &y.op().attrs(),
                        .inputs = {{x.dtype(), x.shape(), kHostSpace}, {int32, {}, kHostSpace}},
                        .outputs = {{x.dtype(), x.shape(), kHostSpace}},
                        .values = {{1, at}}};
  Array result(x.dtype(), x.shape());
  const void* inputs[] = {x.raw(), at.raw()};
  void* outputs[] = {result.raw()};
  CpuBackend backend(1, 2);
  const auto queue = backend.make_queue(0, Lane::compute);
  entry.prepare(request)->enqueue(*queue, {.inputs = inputs, .outputs = outputs});
  return result;
}

TEST_CASE("the fast kernel has the reference's bits, also in slices") {
  const auto& entries = cpu_kernels().entries().at("Cumsum");
  const KernelEntry &fast = entries.front(), &reference = entries.back();
  REQUIRE(fast.label == "rows");
  REQUIRE(reference.label == "reference");
  for (const Shape& shape : {Shape{4, 3, 20001}, Shape{300, 500, 1}, Shape{70001, 2}}) {
    Graph graph;
    const auto guard = graph.as_default();
    const Array x =
        testing::value_of(cast(constant(testing::random_between(shape, -1, 1, 5)), float32));
    for (int axis = 0; axis < static_cast<int>(shape.rank()); ++axis) {
      for (const bool exclusive : {false, true}) {
        const Tensor y = cumsum(x, axis, {.exclusive = exclusive, .reverse = axis == 1});
        CHECK(bits_match(run_kernel(fast, x, y, axis), run_kernel(reference, x, y, axis)));
      }
    }
  }
}

TEST_CASE("gradients of first and second order") {
  for (const bool exclusive : {false, true}) {
    for (const bool reverse : {false, true}) {
      for (const int axis : {0, 1, -1}) {
        const auto f = [&](const std::vector<Tensor>& xs) {
          return square(cumsum(xs[0], axis, {.exclusive = exclusive, .reverse = reverse}));
        };
        const std::vector<Array> xs = {testing::random_between({3, 2, 2}, -1, 1, 4)};
        CHECK(testing::grad_check(f, xs) == "");
        CHECK(testing::grad_check(f, xs, {.unknown_shapes = true}) == "");
        CHECK(testing::second_grad_check(f, xs) == "");
      }
    }
  }
}

TEST_CASE("an axis that does not exist, or is a vector") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = constant({{1.0, 2.0}, {3.0, 4.0}});
  using errors::InvalidArgumentError;
  CHECK_THROWS_AS(numbers(cumsum(x, 2)), const InvalidArgumentError&);
  CHECK_THROWS_AS(numbers(cumsum(x, -3)), const InvalidArgumentError&);
  CHECK_THROWS_AS(numbers(cumsum(constant(1.0))), const InvalidArgumentError&);
  const Tensor axis = placeholder(int32);
  const Tensor late = cumsum(x, axis);
  CHECK_THROWS_AS(numbers(late, {{axis, 2}}), const InvalidArgumentError&);
  CHECK(numbers(late, {{axis, 1}}) == std::vector<double>{1, 3, 3, 7});
}

}  // namespace
}  // namespace towerflow
