// Batch normalisation: forward and backward, channels last and first, in training and inference.
#include <doctest/doctest.h>

#include "cuda/device/arguments.h"
#include "tests/cuda/close.h"
#include "tests/cuda/device_memory.h"

using namespace towerflow::cuda;
using device::BatchNormParameters;
using device::ChannelShape;
using testing::check_values;
using testing::DeviceMemory;
using testing::launch_for;
using testing::numbers;

namespace {

constexpr float kEpsilon = 0.001F, kWeight = 0.25F;

struct Statistics {
  std::vector<double> mean, squares;
};

std::size_t channel_of(const ChannelShape& s, std::size_t i) {
  return i / static_cast<std::size_t>(s.inner) % static_cast<std::size_t>(s.channels);
}

Statistics statistics(const ChannelShape& s, const std::vector<float>& x) {
  const auto channels = static_cast<std::size_t>(s.channels);
  const auto n = static_cast<double>(s.outer * s.inner);
  Statistics found{std::vector<double>(channels), std::vector<double>(channels)};
  for (std::size_t i = 0; i < x.size(); ++i) found.mean[channel_of(s, i)] += x[i] / n;
  for (std::size_t i = 0; i < x.size(); ++i) {
    found.squares[channel_of(s, i)] += std::pow(x[i] - found.mean[channel_of(s, i)], 2);
  }
  return found;
}

void check(const ChannelShape& s, int packed, unsigned parts, float center) {
  CAPTURE(s.channels);
  CAPTURE(s.inner);
  const auto c = static_cast<std::size_t>(s.channels);
  const auto n = static_cast<std::size_t>(s.outer * s.inner) * c;
  const double count = static_cast<double>(n / c);
  const auto xs = numbers<float>(n, center - 2, center + 2);
  const auto dys = numbers<float>(n, -1, 1, 5), scales = numbers<float>(c, 0.5, 2, 6);
  const auto offsets = numbers<float>(c, -1, 1, 7), olds = numbers<float>(c, 0.5, 1, 8);
  const Statistics expected = statistics(s, xs);
  const auto variance = [&](std::size_t k) { return expected.squares[k] / count; };

  DeviceMemory memory;
  const float *x = memory.upload(xs), *dy = memory.upload(dys), *scale = memory.upload(scales);
  const float *offset = memory.upload(offsets), *old = memory.upload(olds);
  float *mean = memory.allocate<float>(c), *var = memory.allocate<float>(c);
  float *running_mean = memory.allocate<float>(c), *running_var = memory.allocate<float>(c);
  float *factor = memory.allocate<float>(c), *shift = memory.allocate<float>(c);
  float *y = memory.allocate<float>(n), *dx = memory.allocate<float>(n);
  double* sums = memory.allocate<double>(2 * c * parts);
  const dim3 tiles(s.inner == 1 ? (static_cast<unsigned>(c) + 255) / 256 : static_cast<unsigned>(c),
                   parts);
  const BatchNormParameters p{scale, old, old,    running_mean, running_var,
                              mean,  var, factor, kEpsilon,     kWeight};
  const auto pinned = [](auto* pointer) {
    return static_cast<const std::remove_pointer_t<decltype(pointer)>*>(pointer);
  };
  memory.run("BatchNormShift_float32", launch_for(c), x, shift, s);
  memory.run("BatchNormSums_float32", {tiles, dim3(256), 0}, x, pinned(shift), sums, s);
  memory.run("BatchNormStatistics", launch_for(c), pinned(sums), static_cast<int>(parts),
             pinned(shift), p, s);
  memory.run("BatchNormApply_float32", launch_for(n / 2 + 1), x, pinned(mean), pinned(factor),
             offset, y, s, packed);
  check_values(memory.download(mean, c), [&](std::size_t k) { return expected.mean[k]; });
  check_values(memory.download(var, c), variance);
  check_values(memory.download(running_mean, c),
               [&](std::size_t k) { return (1 - kWeight) * olds[k] + kWeight * expected.mean[k]; });
  check_values(memory.download(running_var, c), [&](std::size_t k) {
    return (1 - kWeight) * olds[k] + kWeight * expected.squares[k] / (count - 1);
  });
  check_values(
      memory.download(y, n),
      [&](std::size_t i) {
        const std::size_t k = channel_of(s, i);
        return (xs[i] - expected.mean[k]) / std::sqrt(variance(k) + kEpsilon) * scales[k] +
               offsets[k];
      },
      1e-5 * std::fmax(1, center));

  std::vector<double> slopes(c), products(c);
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t k = channel_of(s, i);
    slopes[k] += dys[i];
    products[k] += dys[i] * (xs[i] - expected.mean[k]);
  }
  for (const int training : {1, 0}) {
    float *dscale = memory.allocate<float>(c), *doffset = memory.allocate<float>(c);
    float* params = memory.allocate<float>(4 * c);
    memory.run("BatchNormGradSums_float32", {tiles, dim3(256), 0}, dy, x, pinned(mean), sums, s);
    memory.run("BatchNormGradStatistics", launch_for(c), pinned(sums), static_cast<int>(parts),
               pinned(mean), pinned(var), scale, dscale, doffset, params, kEpsilon, training, s);
    memory.run("BatchNormGradApply_float32", launch_for(n / 2 + 1), dy, x, pinned(params), dx, s,
               packed);
    const double tolerance = 3e-5 * std::fmax(1, center);
    check_values(
        memory.download(doffset, c), [&](std::size_t k) { return slopes[k]; }, tolerance);
    check_values(
        memory.download(dscale, c),
        [&](std::size_t k) { return products[k] / std::sqrt(variance(k) + kEpsilon); }, tolerance);
    check_values(
        memory.download(dx, n),
        [&](std::size_t i) {
          const std::size_t k = channel_of(s, i);
          const double r = 1 / std::sqrt(variance(k) + kEpsilon);
          const double through =
              slopes[k] / count + (xs[i] - expected.mean[k]) * products[k] / count * r * r;
          return (dys[i] - (training != 0 ? through : 0)) * r * scales[k];
        },
        tolerance);
  }
}

}  // namespace

TEST_SUITE("cuda batch norm") {
  TEST_CASE("channels last") {
    check({35, 3, 1}, 0, 1, 0);
    check({35, 16, 1}, 1, 3, 0);
    check({9, 300, 1}, 1, 2, 0);
  }
  TEST_CASE("channels first") {
    check({3, 5, 24}, 1, 1, 0);
    check({2, 3, 7}, 0, 2, 0);
  }
  TEST_CASE("the gradient of an inference does not depend on the images, which may be NaN") {
    DeviceMemory memory;
    const float* dy = memory.upload(std::vector<float>{1, 2});
    const float* x = memory.upload(std::vector<float>{NAN, INFINITY});
    // Mean, shift, slope and factor of one channel.
    const float* params = memory.upload(std::vector<float>{0, 0, 0, 3});
    float* dx = memory.allocate<float>(2);
    memory.run("BatchNormGradApply_float32", launch_for(2), dy, x, params, dx,
               ChannelShape{2, 1, 1}, 0);
    CHECK(memory.download(dx, 2) == std::vector<float>{3, 6});
  }
  TEST_CASE("the variance is exact far from zero") { check({64, 8, 1}, 1, 2, 1000); }
}

TEST_SUITE("cuda local response normalization") {
  TEST_CASE("values and gradients by differences, in float64") {
    for (const double beta : {0.5, 0.75}) {
      CAPTURE(beta);
      const device::LrnShape shape{
          .rows = 3, .channels = 7, .radius = 2, .bias = 1.5, .alpha = 0.3, .beta = beta};
      const auto values = numbers<double>(21), slopes = numbers<double>(21, -1, 1, 7);
      const auto normalized = [&](const std::vector<double>& x) {
        std::vector<double> y(21);
        for (int i = 0; i < 21; ++i) {
          double sum = 0;
          for (int k = i - 2; k <= i + 2; ++k) {
            if (k >= 0 && k / 7 == i / 7) sum += x[std::size_t(k)] * x[std::size_t(k)];
          }
          y[std::size_t(i)] = x[std::size_t(i)] * std::pow(1.5 + 0.3 * sum, -beta);
        }
        return y;
      };
      DeviceMemory memory;
      const double *x = memory.upload(values), *dy = memory.upload(slopes);
      double *y = memory.allocate<double>(21), *dx = memory.allocate<double>(21),
             *terms = memory.allocate<double>(42);
      memory.run("LRN_float64", launch_for(21), x, y, shape);
      const auto wanted = normalized(values);
      check_values(memory.download(y, 21), [&](std::size_t i) { return wanted[i]; });
      memory.run("LRNTerms_float64", launch_for(21), dy, x, static_cast<const double*>(y), terms,
                 shape);
      memory.run("LRNGrad_float64", launch_for(21), dy, x, static_cast<const double*>(terms), dx,
                 shape);
      check_values(memory.download(dx, 21), [&](std::size_t i) {
        auto more = values, less = values;
        more[i] += 1e-6;
        less[i] -= 1e-6;
        const auto above = normalized(more), below = normalized(less);
        double slope = 0;
        for (std::size_t k = 0; k < 21; ++k) slope += slopes[k] * (above[k] - below[k]) / 2e-6;
        return slope;
      });
    }
  }
}
