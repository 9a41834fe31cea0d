#include <doctest/doctest.h>

#include <string>

#include "ops/reference/pool.h"
#include "tests/ops/simd/levels.h"

namespace towerflow {
namespace {

using simd::ColumnSums;
using simd::Loops;
using testing::random_floats;
using testing::run_on_all_levels;
using testing::same_numbers;
using testing::special_floats;

struct Case {
  std::int64_t batch, height, width, channels, window, stride;
  Padding padding;
};

const Case kCases[] = {
    {3, 8, 6, 16, 2, 2, Padding::same},  {2, 28, 28, 32, 2, 2, Padding::same},
    {2, 8, 6, 17, 2, 2, Padding::same},  {2, 7, 5, 16, 2, 2, Padding::same},
    {2, 7, 5, 16, 2, 2, Padding::valid}, {2, 9, 9, 35, 3, 2, Padding::same},
    {2, 9, 8, 3, 3, 1, Padding::valid},  {2, 6, 6, 20, 2, 3, Padding::valid},
    {1, 5, 5, 1, 5, 5, Padding::same},   {0, 4, 4, 16, 2, 2, Padding::same},
};

PoolGeometry geometry_of(const Case& c) {
  return {.batch = c.batch,
          .channels = c.channels,
          .rows = window_axis(c.height, c.window, c.stride, c.padding),
          .columns = window_axis(c.width, c.window, c.stride, c.padding)};
}

std::string describe(const Case& c) {
  return std::to_string(c.batch) + "x" + std::to_string(c.height) + "x" + std::to_string(c.width) +
         "x" + std::to_string(c.channels) + " window " + std::to_string(c.window) + " stride " +
         std::to_string(c.stride) + (c.padding == Padding::same ? " SAME" : " VALID");
}

// Returns numbers of few distinct values, so that ties are common, and some NaN and infinities.
std::vector<float> tied_floats(std::size_t count) {
  std::vector<float> values = random_floats(count, 9);
  for (float& v : values) v = std::round(v * 2.0f);
  const auto hard = special_floats(count, 4);
  for (std::size_t i = 0; i < count; i += 7) values[i] = hard[i];
  return values;
}

// Calls `run(range)` on both halves of the batch, the second one first.
template <class Run>
void run_in_two_parts(std::int64_t batch, Run run) {
  const std::int64_t half = batch / 2;
  run(simd::ImageRange{half, batch - half});
  run(simd::ImageRange{0, half});
}

TEST_CASE("max_pool gives the bits of the reference, NaN and ties included") {
  for (const Case& c : kCases) {
    CAPTURE(describe(c));
    const PoolGeometry g = geometry_of(c);
    const auto x = tied_floats(static_cast<std::size_t>(g.batch * g.image_elements()));
    std::vector<float> y(static_cast<std::size_t>(g.batch * g.result_elements()));
    for (const bool after_relu : {false, true}) {
      auto input = x;
      if (after_relu)
        simd::loops().relu(x.data(), input.data(), static_cast<std::int64_t>(x.size()));
      reference::max_pool(g, input.data(), y.data());
      CHECK(same_numbers(y, run_on_all_levels(y.size(), [&](const Loops& loops, float* out) {
                           run_in_two_parts(g.batch, [&](simd::ImageRange images) {
                             loops.max_pool(g, images, after_relu, x.data(), out);
                           });
                         })));
    }
  }
}

TEST_CASE("max_pool_grad gives the bits of the reference, after a relu and with column sums") {
  for (const Case& c : kCases) {
    CAPTURE(describe(c));
    const PoolGeometry g = geometry_of(c);
    const auto x = tied_floats(static_cast<std::size_t>(g.batch * g.image_elements()));
    const auto dy = special_floats(static_cast<std::size_t>(g.batch * g.result_elements()), 6);
    const auto size = static_cast<std::int64_t>(x.size());
    for (const bool after_relu : {false, true}) {
      std::vector<float> input = x, dx(x.size());
      if (after_relu) simd::loops().relu(x.data(), input.data(), size);
      reference::max_pool_grad(g, input.data(), dy.data(), dx.data());
      if (after_relu) simd::loops().relu_grad(dx.data(), input.data(), dx.data(), size);
      CHECK(same_numbers(dx, run_on_all_levels(dx.size(), [&](const Loops& loops, float* out) {
                           run_in_two_parts(g.batch, [&](simd::ImageRange images) {
                             loops.max_pool_grad(g, images, after_relu, x.data(), dy.data(), out,
                                                 nullptr);
                           });
                         })));
      const auto width = static_cast<std::size_t>(g.channels);
      std::vector<float> sums(width), block(width), fused_sums(width);
      ColumnSums state{sums.data(), block.data(), 0};
      simd::loops().column_sums_begin(&state, g.channels);
      simd::loops().column_sums_add(&state, dx.data(), size / g.channels, g.channels, g.channels);
      simd::loops().column_sums_end(&state, g.channels);
      CHECK(same_numbers(
          dx, run_on_all_levels(dx.size(), [&](const Loops& loops, float* out) {
            ColumnSums fused{fused_sums.data(), block.data(), 0};
            loops.column_sums_begin(&fused, g.channels);
            loops.max_pool_grad(g, {0, g.batch}, after_relu, x.data(), dy.data(), out, &fused);
            loops.column_sums_end(&fused, g.channels);
            CHECK(same_numbers(fused_sums, sums));
          })));
    }
  }
}

TEST_CASE("a window of NaN alone gives the lowest number, and its first element the gradient") {
  const PoolGeometry g = geometry_of({1, 2, 2, 16, 2, 2, Padding::same});
  const std::vector<float> x(64, std::nanf("")), dy(16, 3.0f);
  const auto y = run_on_all_levels(16, [&](const Loops& loops, float* out) {
    loops.max_pool(g, {0, 1}, false, x.data(), out);
  });
  CHECK(y == std::vector<float>(16, std::numeric_limits<float>::lowest()));
  const auto dx = run_on_all_levels(64, [&](const Loops& loops, float* out) {
    loops.max_pool_grad(g, {0, 1}, false, x.data(), dy.data(), out, nullptr);
  });
  std::vector<float> wanted(64, 0.0f);
  std::fill_n(wanted.begin(), 16, 3.0f);
  CHECK(dx == wanted);
}

}  // namespace
}  // namespace towerflow
