#include "ops/onednn/conv.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <thread>

#include "core/device/cpu/thread_pool.h"
#include "core/graph/error.h"
#include "ops/reference/conv.h"
#include "tests/core/device/cpu/kernel_harness.h"
#include "tests/ops/conv_case.h"

namespace towerflow {
namespace {

using testing::geometry_of;
using testing::largest_error;
using testing::random_floats;
using testing::run_guarded;
using testing::same_bits;
using testing::SliceOrder;

using Case = testing::ConvCase;

const Case kCases[] = {
    {4, 12, 1, 32, 5, 1, Padding::same},  {3, 12, 3, 16, 5, 1, Padding::same},
    {63, 6, 1, 8, 5, 1, Padding::same},   {64, 6, 32, 64, 5, 1, Padding::same},
    {1, 9, 16, 16, 3, 1, Padding::same},  {2, 9, 16, 16, 3, 2, Padding::same},
    {2, 10, 16, 32, 3, 2, Padding::same}, {5, 11, 3, 7, 4, 3, Padding::valid},
    {2, 8, 5, 3, 2, 2, Padding::valid},   {3, 7, 17, 33, 1, 1, Padding::valid},
    {3, 7, 16, 16, 1, 2, Padding::same},  {2, 5, 2, 2, 5, 1, Padding::valid},
    {2, 4, 3, 4, 6, 1, Padding::same},    {2, 5, 128, 300, 3, 1, Padding::same},
    {2, 23, 3, 8, 11, 4, Padding::valid}, {9, 50, 1, 16, 3, 1, Padding::same},
};

// Numbers of elements, and of products per element.
struct Sizes {
  explicit Sizes(const ConvGeometry& g)
      : x(static_cast<std::size_t>(g.batch * g.image_elements())),
        filter(static_cast<std::size_t>(g.filter_elements())),
        bias(static_cast<std::size_t>(g.out_channels)),
        y(static_cast<std::size_t>(g.batch * g.result_elements())),
        y_products(g.rows.window * g.columns.window * g.in_channels),
        x_products(g.rows.window * g.columns.window * g.out_channels),
        filter_products(g.batch * g.rows.output * g.columns.output) {}
  std::size_t x, filter, bias, y;
  // Numbers of products summed into one element.
  std::int64_t y_products, x_products, filter_products;
};

// Relative to the larger of the expected value and sqrt(products), the typical size of a sum.
constexpr double kTolerance = 4e-6;

// Runs both slice orders, which must agree in every bit, and compares with float64.
void check_kernel(const CpuKernel& kernel, const std::vector<std::vector<float>>& inputs,
                  const std::vector<std::vector<double>>& wanted, std::int64_t products) {
  const double floor = std::max(1.0, std::sqrt(static_cast<double>(products)));
  std::vector<std::size_t> sizes;
  for (const auto& each : wanted) sizes.push_back(each.size());
  const auto first = run_guarded(kernel, inputs, sizes);
  const auto second = run_guarded(kernel, inputs, sizes, SliceOrder::backward);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    CHECK(same_bits(first[i], second[i]));
    CHECK(largest_error(first[i], wanted[i], floor) < kTolerance);
  }
}

TEST_CASE("conv2d agrees with float64 loops") {
  for (const Case& c : kCases) {
    CAPTURE(describe(c));
    const ConvGeometry g = geometry_of(c);
    const Sizes sizes(g);
    const auto x = random_floats(sizes.x, 1), filter = random_floats(sizes.filter, 2),
               bias = random_floats(sizes.bias, 3);
    for (const bool with_bias : {false, true}) {
      std::vector<double> y(sizes.y);
      reference::conv2d(g, x.data(), filter.data(), with_bias ? bias.data() : nullptr, y.data());
      const auto kernel = onednn::make_conv2d(g, {.bias = with_bias});
      check_kernel(*kernel, {x, filter, bias}, {y}, sizes.y_products);
      for (double& value : y) value = std::max(value, 0.0);
      check_kernel(*onednn::make_conv2d(g, {.bias = with_bias, .relu = true}), {x, filter, bias},
                   {y}, sizes.y_products);
    }
  }
}

TEST_CASE("conv2d_backprop_input agrees with float64 loops") {
  for (const Case& c : kCases) {
    CAPTURE(describe(c));
    const ConvGeometry g = geometry_of(c);
    const Sizes sizes(g);
    const auto filter = random_floats(sizes.filter, 4), dy = random_floats(sizes.y, 5);
    std::vector<double> dx(sizes.x);
    reference::conv2d_backprop_input(g, filter.data(), dy.data(), dx.data());
    check_kernel(*onednn::make_conv2d_backprop_input(g), {filter, dy}, {dx}, sizes.x_products);
  }
}

TEST_CASE("conv2d_backprop_filter agrees with float64 loops") {
  for (const Case& c : kCases) {
    CAPTURE(describe(c));
    const ConvGeometry g = geometry_of(c);
    const Sizes sizes(g);
    const auto x = random_floats(sizes.x, 6), dy = random_floats(sizes.y, 7);
    std::vector<double> dfilter(sizes.filter), dbias(sizes.bias);
    reference::conv2d_backprop_filter(g, x.data(), dy.data(), dfilter.data(), dbias.data());
    check_kernel(*onednn::make_conv2d_backprop_filter(g), {x, dy}, {dfilter},
                 sizes.filter_products);
    check_kernel(*onednn::make_conv2d_backprop_filter(g, {.bias = true}), {x, dy}, {dfilter, dbias},
                 sizes.filter_products);
    check_kernel(*onednn::make_conv2d_backprop_filter(g, {.slices = 3}), {x, dy}, {dfilter},
                 sizes.filter_products);
  }
}

TEST_CASE("without images there is no result, and a filter gradient of zeros") {
  for (const Case& c :
       {Case{0, 6, 3, 4, 3, 1, Padding::same}, Case{2, 0, 3, 4, 3, 1, Padding::same},
        Case{2, 6, 0, 4, 3, 1, Padding::same}, Case{2, 6, 3, 0, 3, 1, Padding::same}}) {
    CAPTURE(describe(c));
    ConvGeometry g = geometry_of(c);
    const Sizes sizes(g);
    const auto x = random_floats(sizes.x, 1), filter = random_floats(sizes.filter, 2),
               dy = random_floats(sizes.y, 5), bias = random_floats(sizes.bias, 3);
    std::vector<double> y(sizes.y), dx(sizes.x), dfilter(sizes.filter), dbias(sizes.bias);
    reference::conv2d(g, x.data(), filter.data(), bias.data(), y.data());
    reference::conv2d_backprop_input(g, filter.data(), dy.data(), dx.data());
    reference::conv2d_backprop_filter(g, x.data(), dy.data(), dfilter.data(), dbias.data());
    check_kernel(*onednn::make_conv2d(g, {.bias = true}), {x, filter, bias}, {y}, sizes.y_products);
    check_kernel(*onednn::make_conv2d_backprop_input(g), {filter, dy}, {dx}, sizes.x_products);
    check_kernel(*onednn::make_conv2d_backprop_filter(g, {.bias = true}), {x, dy}, {dfilter, dbias},
                 sizes.filter_products);
  }
}

TEST_CASE("NaN and infinity pass through a convolution") {
  const ConvGeometry g = geometry_of({2, 6, 16, 16, 3, 1, Padding::same});
  const Sizes sizes(g);
  auto x = random_floats(sizes.x, 1);
  x[0] = std::numeric_limits<float>::quiet_NaN();
  const auto filter = random_floats(sizes.filter, 2);
  std::vector<double> y(sizes.y);
  reference::conv2d(g, x.data(), filter.data(), static_cast<const float*>(nullptr), y.data());
  check_kernel(*onednn::make_conv2d(g), {x, filter}, {y}, sizes.y_products);
  for (double& value : y) value = value < 0.0 ? 0.0 : value;
  check_kernel(*onednn::make_conv2d(g, {.relu = true}), {x, filter}, {y}, sizes.y_products);
}

TEST_CASE("the pool, and two runs at once, give the bits of one thread") {
  const ConvGeometry g = geometry_of({16, 14, 32, 64, 5, 1, Padding::same});
  const Sizes sizes(g);
  const auto x = random_floats(sizes.x, 1), filter = random_floats(sizes.filter, 2);
  const auto kernel = onednn::make_conv2d(g);
  const auto wanted = run_guarded(*kernel, {x, filter}, {sizes.y});
  ThreadPool pool(2);
  std::vector<std::vector<float>> results(3, std::vector<float>(sizes.y));
  std::vector<std::thread> threads;
  for (auto& result : results)
    threads.emplace_back([&] {
      testing::GuardedMemory workspace(kernel->workspace_bytes());
      const void* inputs[] = {x.data(), filter.data()};
      void* outputs[] = {result.data()};
      for (int round = 0; round < 5; ++round)
        pool.run_kernel(*kernel, inputs, outputs, workspace.data());
    });
  for (std::thread& thread : threads) thread.join();
  for (const auto& result : results) CHECK(same_bits(result, wanted[0]));
}

TEST_CASE("windows that do not fit, and sizes beyond the library's reach, are errors") {
  CHECK_THROWS_AS(window_axis(2, 3, 1, Padding::valid), ValueError);
  CHECK_THROWS_AS(window_axis(5, 0, 1, Padding::same), ValueError);
  CHECK_THROWS_AS(window_axis(5, 1, 0, Padding::same), ValueError);
  CHECK_THROWS_AS(window_axis(-1, 1, 1, Padding::same), ValueError);
  ConvGeometry g = geometry_of({2, 6, 3, 4, 3, 1, Padding::same});
  g.batch = std::int64_t{1} << 40;
  CHECK_THROWS_AS(onednn::make_conv2d(g), errors::InvalidArgumentError);
}

TEST_CASE("SAME padding puts the larger half behind") {
  const WindowAxis even = window_axis(28, 5, 1, Padding::same);
  CHECK(even.output == 28);
  CHECK(even.pad_before == 2);
  CHECK(even.pad_after == 2);
  const WindowAxis odd = window_axis(24, 3, 2, Padding::same);
  CHECK(odd.output == 12);
  CHECK(odd.pad_before == 0);
  CHECK(odd.pad_after == 1);
  const WindowAxis wide = window_axis(5, 2, 3, Padding::same);
  CHECK(wide.output == 2);
  CHECK(wide.pad_before + wide.pad_after == 0);
  CHECK(window_axis(7, 3, 2, Padding::valid).output == 3);
}

}  // namespace
}  // namespace towerflow
