#include "ops/onednn/matmul.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/graph/error.h"
#include "ops/reference/matmul.h"
#include "tests/core/device/cpu/kernel_harness.h"

namespace towerflow {
namespace {

using testing::largest_error;
using testing::random_floats;
using testing::run_guarded;
using testing::same_bits;
using testing::SliceOrder;

void check_matmul(const onednn::MatMulShape& s) {
  CAPTURE(std::to_string(s.rows) + "x" + std::to_string(s.inner) + "x" + std::to_string(s.columns) +
          (s.transpose_a ? " a'" : "") + (s.transpose_b ? " b'" : ""));
  const auto size = [](std::int64_t a, std::int64_t b) { return static_cast<std::size_t>(a * b); };
  const auto a = random_floats(size(s.rows, s.inner), 1);
  const auto b = random_floats(size(s.inner, s.columns), 2);
  std::vector<double> c(size(s.rows, s.columns));
  reference::matmul(s.rows, s.inner, s.columns, s.transpose_a, s.transpose_b, a.data(), b.data(),
                    c.data());
  const auto kernel = onednn::make_matmul(s);
  const auto first = run_guarded(*kernel, {a, b}, {c.size()});
  const auto second = run_guarded(*kernel, {a, b}, {c.size()}, SliceOrder::backward);
  CHECK(same_bits(first[0], second[0]));
  const double floor = std::max(1.0, std::sqrt(static_cast<double>(s.inner)));
  CHECK(largest_error(first[0], c, floor) < 4e-6);
}

TEST_CASE("matmul agrees with float64 loops in all four orientations") {
  struct Size {
    std::int64_t rows, inner, columns;
  };
  for (const Size& s :
       {Size{1, 1, 1}, Size{64, 10, 10}, Size{63, 17, 33}, Size{1, 100, 7}, Size{7, 100, 1},
        Size{5, 1, 9}, Size{1, 3000, 3000}, Size{64, 128, 1030}, Size{17, 700, 700},
        Size{1030, 64, 128}, Size{64, 520, 1000}, Size{20, 515, 2000}, Size{50, 512, 256}})
    for (const bool transpose_a : {false, true})
      for (const bool transpose_b : {false, true})
        check_matmul({s.rows, s.inner, s.columns, transpose_a, transpose_b});
}

TEST_CASE("the number of slices depends on the shape") {
  CHECK(onednn::make_matmul({64, 10, 10, false, false})->slices(0) == 1);
  CHECK(onednn::make_matmul({50, 256, 512, false, false})->slices(0) == 2);
  CHECK(onednn::make_matmul({64, 3136, 1024, false, false})->slices(0) == 4);
  CHECK(onednn::make_matmul({64, 1024, 3136, false, true})->phases() == 2);
}

TEST_CASE("bias, addend and relu apply to every slice, however it computes the product") {
  // Whole, parts of rows, parts of columns in place, aside, and turned.
  for (const onednn::MatMulShape& s :
       {onednn::MatMulShape{9, 8, 7, false, false}, onednn::MatMulShape{520, 128, 64, true, false},
        onednn::MatMulShape{50, 256, 512, false, false},
        onednn::MatMulShape{50, 512, 272, false, true},
        onednn::MatMulShape{64, 512, 272, false, true}}) {
    CAPTURE(s.rows);
    CAPTURE(s.transpose_b);
    const auto size = [](std::int64_t n) { return static_cast<std::size_t>(n); };
    const auto a = random_floats(size(s.rows * s.inner), 1);
    const auto b = random_floats(size(s.inner * s.columns), 2);
    const auto bias = random_floats(size(s.columns), 3);
    const auto addend = random_floats(size(s.rows * s.columns), 4);
    const auto plain = run_guarded(*onednn::make_matmul(s), {a, b}, {addend.size()})[0];
    for (const bool relu : {false, true}) {
      const auto finished = [&](auto added) {
        std::vector<float> c(plain);
        for (std::size_t i = 0; i < c.size(); ++i) {
          c[i] += added(i);
          if (relu) c[i] = std::max(c[i], 0.0f);
        }
        return c;
      };
      const auto run = [&](onednn::MatMulOptions options, const std::vector<float>& third) {
        options.relu = relu;
        const auto kernel = onednn::make_matmul(s, options);
        return run_guarded(*kernel, {a, b, third}, {addend.size()})[0];
      };
      CHECK(run({.bias = true}, bias) ==
            finished([&](std::size_t i) { return bias[i % bias.size()]; }));
      // The library may add parts of a sum to the addend, so that the result is rounded otherwise.
      const auto sums = finished([&](std::size_t i) { return addend[i]; });
      const double floor = std::sqrt(static_cast<double>(s.inner));
      CHECK(largest_error(run({.addend = true}, addend), {sums.begin(), sums.end()}, floor) < 1e-6);
      if (relu) CHECK(run({}, addend) == finished([](std::size_t) { return 0.0f; }));
    }
  }
}

TEST_CASE("empty sides give no result, an empty sum gives zeros") {
  check_matmul({0, 5, 7, false, false});
  check_matmul({5, 7, 0, true, false});
  check_matmul({5, 0, 7, false, true});
  for (const bool relu : {false, true}) {
    const auto kernel = onednn::make_matmul({3, 4, 0, false, false}, {.bias = true, .relu = relu});
    CHECK(run_guarded(*kernel, {random_floats(12, 1), {}, {}}, {0})[0].empty());
  }
}

TEST_CASE("a side that the library cannot index is an error") {
  CHECK_THROWS_AS(onednn::make_matmul({std::int64_t{1} << 32, 1, 1, false, false}),
                  errors::InvalidArgumentError);
  CHECK_THROWS_AS(onednn::make_matmul({1, -1, 1, false, false}), errors::InvalidArgumentError);
}

}  // namespace
}  // namespace towerflow
