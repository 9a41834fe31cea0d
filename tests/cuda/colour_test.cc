// Colours: conversions against their definitions, and what adjusting them must keep.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <string>

#include "tests/cuda/close.h"
#include "tests/cuda/device_memory.h"

using namespace towerflow::cuda;
using testing::check_values;
using testing::DeviceMemory;
using testing::launch_for;
using testing::numbers;
using i64 = std::int64_t;
using Colour = std::array<double, 3>;

namespace {

/// Hue, saturation and value by the textbook: the hue is the angle in sixths of a circle, over 6.
Colour hsv_of(const Colour& x) {
  const double high = std::max({x[0], x[1], x[2]}), low = std::min({x[0], x[1], x[2]});
  const double range = high - low;
  double hue = 0;
  if (range > 0) {
    hue = x[0] == high   ? std::fmod((x[1] - x[2]) / range + 6, 6)
          : x[1] == high ? (x[2] - x[0]) / range + 2
                         : (x[0] - x[1]) / range + 4;
  }
  return {hue / 6, high > 0 ? range / high : 0, high};
}
Colour rgb_of(const Colour& x) {
  const double sector = std::floor(x[0] * 6), part = x[0] * 6 - sector;
  const double p = x[2] * (1 - x[1]), q = x[2] * (1 - x[1] * part),
               t = x[2] * (1 - x[1] * (1 - part));
  switch (static_cast<int>(sector) % 6) {
    case 0:
      return {x[2], t, p};
    case 1:
      return {q, x[2], p};
    case 2:
      return {p, x[2], t};
    case 3:
      return {p, q, x[2]};
    case 4:
      return {t, p, x[2]};
    default:
      return {x[2], p, q};
  }
}

/// Colours with any order of the channels, equal channels, grey and black.
std::vector<float> colours() {
  auto made = numbers<float>(3 * 300, 0.01, 1);
  for (std::size_t i = 0; i < 60; i += 3) made[i + i / 3 % 3] = made[i + (i / 3 + 1) % 3];
  for (std::size_t i = 60; i < 66; ++i) made[i] = i < 63 ? 0.4F : 0.0F;
  return made;
}
template <class T>
Colour colour_at(const std::vector<T>& all, std::size_t pixel) {
  return {double{all[3 * pixel]}, double{all[3 * pixel + 1]}, double{all[3 * pixel + 2]}};
}

template <class T>
void check_spaces(const std::string& dtype) {
  const auto given = colours();
  const std::vector<T> values(given.begin(), given.end());
  const std::size_t n = values.size(), pixels = n / 3;
  DeviceMemory memory;
  const T* x = memory.upload(values);
  T* y = memory.allocate<T>(n);
  memory.run("RGBToHSV_" + dtype, launch_for(pixels), x, y, i64(pixels));
  check_values(memory.download(y, n),
               [&](std::size_t i) { return hsv_of(colour_at(values, i / 3))[i % 3]; });
  memory.run("HSVToRGB_" + dtype, launch_for(pixels), x, y, i64(pixels));
  check_values(memory.download(y, n),
               [&](std::size_t i) { return rgb_of(colour_at(values, i / 3))[i % 3]; });
}

}  // namespace

TEST_SUITE("cuda colours") {
  TEST_CASE("conversions between colour spaces") {
    check_spaces<float>("float32");
    check_spaces<double>("float64");
  }

  TEST_CASE("hues are turned, by any number of circles") {
    const auto values = colours();
    const std::size_t n = values.size(), pixels = n / 3;
    DeviceMemory memory;
    const float* x = memory.upload(values);
    float* y = memory.allocate<float>(n);
    for (const float delta : {0.0F, 0.3F, -0.45F, 1.2F, -3.7F}) {
      CAPTURE(delta);
      memory.run("AdjustHue_float32", launch_for(pixels), x,
                 static_cast<const float*>(memory.upload(std::vector<float>{delta})), y,
                 i64(pixels));
      check_values(memory.download(y, n), [&](std::size_t i) {
        Colour hsv = hsv_of(colour_at(values, i / 3));
        hsv[0] += double{delta};
        hsv[0] -= std::floor(hsv[0]);
        return rgb_of(hsv)[i % 3];
      });
    }
  }

  TEST_CASE("saturations are multiplied, and end at 1") {
    const auto values = colours();
    const std::size_t n = values.size(), pixels = n / 3;
    DeviceMemory memory;
    const float* x = memory.upload(values);
    float* y = memory.allocate<float>(n);
    for (const float scale : {0.0F, 0.5F, 1.0F, 3.0F}) {
      CAPTURE(scale);
      memory.run("AdjustSaturation_float32", launch_for(pixels), x,
                 static_cast<const float*>(memory.upload(std::vector<float>{scale})), y,
                 i64(pixels));
      check_values(memory.download(y, n), [&](std::size_t i) {
        Colour hsv = hsv_of(colour_at(values, i / 3));
        hsv[1] = std::min(1.0, hsv[1] * double{scale});
        return rgb_of(hsv)[i % 3];
      });
    }
  }
}
