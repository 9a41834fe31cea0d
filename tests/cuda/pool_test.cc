// Pooling: compared with loops over windows, as ops/reference/pool.h has them.
#include <doctest/doctest.h>

#include <string>

#include "cuda/device/arguments.h"
#include "tests/cuda/close.h"
#include "tests/cuda/device_memory.h"

using namespace towerflow::cuda;
using device::PoolShape;
using testing::check_values;
using testing::DeviceMemory;
using testing::launch_for;
using testing::numbers;

namespace {

std::size_t index(int i) { return static_cast<std::size_t>(i); }

/// The results of all poolings in double, from loops over the windows.
struct Expected {
  std::vector<double> max, average, max_grad, average_grad, max_grad_grad, place;

  Expected(const PoolShape& s, const std::vector<double>& x, const std::vector<double>& dy)
      : max_grad(x.size()), average_grad(x.size()) {
    for (int n = 0; n < s.batch; ++n) {
      for (int p = 0; p < s.rows.output; ++p) {
        for (int q = 0; q < s.columns.output; ++q) {
          for (int c = 0; c < s.channels; ++c) add(s, x, dy, {n, p, q, c});
        }
      }
    }
  }

 private:
  struct At {
    int n, p, q, c;
  };
  void add(const PoolShape& s, const std::vector<double>& x, const std::vector<double>& dy, At at) {
    std::vector<std::size_t> inside;
    for (int r = 0; r < s.rows.window; ++r) {
      for (int t = 0; t < s.columns.window; ++t) {
        const int h = at.p * s.rows.stride + r - s.rows.pad_before;
        const int w = at.q * s.columns.stride + t - s.columns.pad_before;
        if (h < 0 || h >= s.rows.input || w < 0 || w >= s.columns.input) continue;
        inside.push_back(
            index(((at.n * s.rows.input + h) * s.columns.input + w) * s.channels + at.c));
      }
    }
    const double slope = dy[max.size()];
    double sum = 0;
    std::size_t best = inside[0];
    for (const std::size_t i : inside) {
      sum += x[i];
      if (x[best] < x[i]) best = i;
      average_grad[i] += slope / static_cast<double>(inside.size());
    }
    max_grad[best] += slope;
    max_grad_grad.push_back(x[best] * 2);
    max.push_back(x[best]);
    place.push_back(static_cast<double>(best));
    average.push_back(sum / static_cast<double>(inside.size()));
  }
};

template <class T>
void check(const PoolShape& s, int packed, const std::string& dtype) {
  CAPTURE(s.channels);
  CAPTURE(s.rows.window);
  const std::size_t n = index(s.batch * s.rows.input * s.columns.input * s.channels);
  const std::size_t m = index(s.batch * s.rows.output * s.columns.output * s.channels);
  auto xs = numbers<T>(n);
  for (T& x : xs) x = std::round(x * 4) / 4;  // many are equal: the first largest wins
  const auto dys = numbers<T>(m, -1, 1, 3);
  const Expected expected(s, {xs.begin(), xs.end()}, {dys.begin(), dys.end()});
  std::vector<T> twice(xs);
  for (T& x : twice) x *= 2;
  DeviceMemory memory;
  const T *x = memory.upload(xs), *dy = memory.upload(dys), *ddx = memory.upload(twice);
  T *y = memory.allocate<T>(m), *dx = memory.allocate<T>(n);
  auto* places = memory.allocate<std::uint16_t>(m);
  const auto* place = static_cast<const std::uint16_t*>(places);
  const auto launch = launch_for(n / 3 + 1);
  const auto holds = [](const std::vector<double>& wanted) {
    return [&](std::size_t i) { return wanted[i]; };
  };
  memory.run("MaxPool_" + dtype, launch, x, y, static_cast<std::uint16_t*>(nullptr), s, packed);
  check_values(memory.download(y, m), holds(expected.max));
  memory.run("MaxPool_" + dtype, launch, x, static_cast<T*>(nullptr), places, s, packed);
  memory.run("MaxPoolGrad_" + dtype, launch, place, dy, dx, s, packed);
  check_values(memory.download(dx, n), holds(expected.max_grad));
  memory.run("MaxPoolReluGrad_" + dtype, launch, place, dy, x, dx, s, packed);
  check_values(memory.download(dx, n),
               [&](std::size_t i) { return xs[i] > 0 ? expected.max_grad[i] : 0; });
  memory.run("MaxPoolGradGrad_" + dtype, launch, place, ddx, y, s);
  check_values(memory.download(y, m), holds(expected.max_grad_grad));
  const std::size_t image = n / index(s.batch);
  auto* places32 = memory.allocate<std::int32_t>(m);
  memory.run("MaxPoolArgmax_" + dtype + "_int32", launch, x, place, y, places32, 0, s);
  check_values(memory.download(y, m), holds(expected.max));
  check_values(memory.download(places32, m), [&](std::size_t i) {
    return static_cast<double>(static_cast<std::size_t>(expected.place[i]) % image);
  });
  auto* places64 = memory.allocate<std::int64_t>(m);
  memory.run("MaxPoolArgmax_" + dtype + "_int64", launch, x, place, y, places64, 1, s);
  check_values(memory.download(places64, m), holds(expected.place));
  memory.run("AvgPool_" + dtype, launch, x, y, s, packed);
  check_values(memory.download(y, m), holds(expected.average));
  memory.run("AvgPoolGrad_" + dtype, launch, dy, dx, s, packed);
  check_values(memory.download(dx, n), holds(expected.average_grad));
}

}  // namespace

TEST_SUITE("cuda pool") {
  TEST_CASE("windows apart, overlapping, with gaps, with padding") {
    check<float>({2, 3, {6, 2, 2, 3, 0}, {4, 2, 2, 2, 0}}, 0, "float32");
    check<float>({2, 8, {7, 3, 2, 4, 1}, {5, 3, 2, 3, 1}}, 1, "float32");
    check<float>({1, 4, {9, 2, 3, 3, 0}, {8, 3, 1, 8, 1}}, 1, "float32");
    check<float>({1, 1, {5, 5, 1, 1, 0}, {6, 2, 4, 2, 0}}, 0, "float32");
    check<double>({2, 6, {7, 3, 2, 4, 1}, {5, 3, 2, 3, 1}}, 1, "float64");
    check<double>({1, 3, {5, 3, 1, 5, 1}, {5, 1, 1, 5, 0}}, 0, "float64");
  }

  TEST_CASE("NaN never is the largest value, but keeps the gradient if it comes first") {
    DeviceMemory memory;
    const PoolShape s{1, 1, {1, 1, 1, 1, 0}, {4, 2, 2, 2, 0}};
    const float* x = memory.upload(std::vector<float>{NAN, 1, 2, NAN});
    float* y = memory.allocate<float>(2);
    auto* place = memory.allocate<std::uint16_t>(2);
    memory.run("MaxPool_float32", launch_for(2), x, y, place, s, 0);
    CHECK(memory.download(y, 2) == std::vector<float>{1, 2});
    CHECK(memory.download(place, 2) == std::vector<std::uint16_t>{0, 0});
  }

  TEST_CASE("16-bit numbers") {
    DeviceMemory memory;
    const PoolShape s{1, 1, {2, 2, 2, 1, 0}, {2, 2, 2, 1, 0}};
    const auto* x = memory.upload(std::vector<std::uint16_t>{0x3c00, 0x4000, 0x4200, 0x4400});
    auto* y = memory.allocate<std::uint16_t>(1);
    memory.run("AvgPool_float16", launch_for(1), x, y, s, 0);
    CHECK(memory.download(y, 1)[0] == 0x4100);  // 2.5
    memory.run("MaxPool_float16", launch_for(1), x, y, static_cast<std::uint16_t*>(nullptr), s, 0);
    CHECK(memory.download(y, 1)[0] == 0x4400);
  }
}
