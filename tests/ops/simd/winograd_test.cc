#include <cmath>

#include "ops/reference/conv.h"
#include "ops/simd/kernels.h"
#include "tests/ops/conv_case.h"
#include "tests/ops/simd/levels.h"

namespace towerflow {
namespace {

using testing::all_levels;
using testing::geometry_of;
using testing::largest_error;
using testing::random_floats;
using testing::run_guarded;
using testing::same_bits;
using testing::SliceOrder;

using Case = testing::ConvCase;

const Case kCases[] = {
    {4, 14, 32, 64, 5, 1, Padding::same}, {3, 7, 16, 16, 5, 1, Padding::valid},
    {9, 5, 48, 16, 5, 1, Padding::same},  {1, 1, 16, 32, 5, 1, Padding::same},
    {2, 6, 16, 80, 5, 1, Padding::valid}, {4, 14, 32, 64, 3, 1, Padding::same},
    {3, 7, 16, 16, 3, 1, Padding::valid}, {9, 5, 48, 16, 3, 1, Padding::same},
    {1, 1, 16, 32, 3, 1, Padding::same},  {2, 4, 16, 112, 3, 1, Padding::valid},
};

// Returns the typical size of a sum of `sums` random products, to make errors comparable.
double scale_of(std::int64_t sums) { return std::sqrt(static_cast<double>(sums)); }

/// Runs `kernel` on each level that has the loops and in both slice orders, which must agree in
/// every bit, and compares with float64.
void check_kernel(const CpuKernel& kernel, const std::vector<std::vector<float>>& inputs,
                  const std::vector<double>& wanted, double scale, double tolerance) {
  std::vector<float> first;
  const simd::Level best = simd::loops().level;
  for (const simd::Loops* level : all_levels()) {
    if (!level->winograd.present) continue;
    CAPTURE(simd::level_name(level->level));
    REQUIRE(simd::use_level(level->level));
    for (const SliceOrder order : {SliceOrder::forward, SliceOrder::backward}) {
      const auto result = run_guarded(kernel, inputs, {wanted.size()}, order)[0];
      if (first.empty()) first = result;
      CHECK(same_bits(result, first));
    }
  }
  simd::use_level(best);
  CHECK(largest_error(first, wanted, scale) < tolerance);
}

template <class T>
std::vector<T> zeros(std::int64_t count) {
  return std::vector<T>(static_cast<std::size_t>(count));
}

}  // namespace

TEST_CASE("winograd: convolutions agree with float64 loops on every level") {
  if (!simd::loops().winograd.present) {
    MESSAGE("SKIPPED: no fused multiply-add");
    return;
  }
  for (const Case& c : kCases) {
    CAPTURE(describe(c));
    const ConvGeometry g = geometry_of(c);
    REQUIRE(simd::winograd_takes(g));
    const std::int64_t taps = c.window * c.window;
    const auto x = random_floats(static_cast<std::size_t>(g.batch * g.image_elements()), 1);
    const auto filter = random_floats(static_cast<std::size_t>(g.filter_elements()), 2);
    const auto bias = random_floats(static_cast<std::size_t>(c.filters), 3);
    const auto dy = random_floats(static_cast<std::size_t>(g.batch * g.result_elements()), 4);

    auto y = zeros<double>(g.batch * g.result_elements());
    reference::conv2d<float, double>(g, x.data(), filter.data(), nullptr, y.data());
    check_kernel(*simd::make_winograd_conv2d(g), {x, filter}, y, scale_of(taps * c.channels), 4e-6);
    reference::conv2d<float, double>(g, x.data(), filter.data(), bias.data(), y.data());
    check_kernel(*simd::make_winograd_conv2d(g, {.bias = true}), {x, filter, bias}, y,
                 scale_of(taps * c.channels), 4e-6);
    for (double& value : y) value = std::max(value, 0.0);
    check_kernel(*simd::make_winograd_conv2d(g, {.bias = true, .relu = true}), {x, filter, bias}, y,
                 scale_of(taps * c.channels), 4e-6);

    auto dx = zeros<double>(g.batch * g.image_elements());
    reference::conv2d_backprop_input<float, double>(g, filter.data(), dy.data(), dx.data());
    check_kernel(*simd::make_winograd_conv2d_backprop_input(g), {filter, dy}, dx,
                 scale_of(taps * c.filters), 4e-6);

    auto dfilter = zeros<double>(g.filter_elements());
    reference::conv2d_backprop_filter<float, double>(g, x.data(), dy.data(), dfilter.data(),
                                                     nullptr);
    for (const int slices : {1, 3, 4})
      check_kernel(*simd::make_winograd_conv2d_backprop_filter(g, {.slices = slices}), {x, dy},
                   dfilter, scale_of(g.batch * g.rows.output * g.columns.output), 1.2e-5);
  }
}

TEST_CASE("winograd: a value that is not finite is not hidden") {
  if (!simd::loops().winograd.present) {
    MESSAGE("SKIPPED: no fused multiply-add");
    return;
  }
  const Case c{1, 8, 16, 16, 3, 1, Padding::same};
  const ConvGeometry g = geometry_of(c);
  const auto filter = random_floats(static_cast<std::size_t>(g.filter_elements()), 2);
  for (const float odd : {std::nanf(""), HUGE_VALF}) {
    auto x = random_floats(static_cast<std::size_t>(g.image_elements()), 1);
    x[0] = odd;
    const auto kernel = simd::make_winograd_conv2d(g, {.relu = true});
    const auto y =
        run_guarded(*kernel, {x, filter}, {static_cast<std::size_t>(g.result_elements())})[0];
    // Results whose windows contain (0, 0) are not finite. Those six or more away are.
    for (std::size_t k = 0; k < 16; ++k) CHECK_FALSE(std::isfinite(y[k] + y[16 + k]));
    CHECK(std::isfinite(y.back()));
  }
}

TEST_CASE("winograd: what it does not take") {
  const ConvGeometry good = geometry_of({4, 14, 32, 64, 5, 1, Padding::same});
  ConvGeometry g = good;
  g.in_channels = 24;
  CHECK_FALSE(simd::winograd_takes(g));
  g = good;
  g.rows.stride = 2;
  CHECK_FALSE(simd::winograd_takes(g));
  g = good;
  g.columns.window = 3;
  CHECK_FALSE(simd::winograd_takes(g));
  g = good;
  g.batch = 0;
  CHECK_FALSE(simd::winograd_takes(g));
  CHECK_FALSE(simd::winograd_takes(geometry_of({4, 14, 32, 64, 1, 1, Padding::same})));
}

}  // namespace towerflow
