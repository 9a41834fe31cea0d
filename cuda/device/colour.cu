// Colours [pixels, 3], with the formulas of ops/image/colour_spaces.cc and adjust_ops.cc: a thread
// for each pixel. What adjusts them is a number in device memory.
//
//   RGBToHSV_T(x, y, pixels), HSVToRGB_T(x, y, pixels)
//   AdjustHue_float32(x, delta, y, pixels), AdjustSaturation_float32(x, scale, y, pixels)
#include "cuda/device/functors.cuh"
#include "ops/image/turned_hue.h"

namespace towerflow::cuda::device {
namespace {

template <class T>
struct Colour {
  T v[3];
};

/// Calls y = f(x) for all pixels.
template <class T, class F>
TOWERFLOW_DEVICE void for_pixels(const T* x, T* y, int64 pixels, F f) {
  for (int64 i = grid_thread(); i < pixels; i += grid_threads()) {
    Colour<Compute<T>> in;
    for (int c = 0; c < 3; ++c) in.v[c] = widen(x[3 * i + c]);
    const Colour<Compute<T>> out = f(in);
    for (int c = 0; c < 3; ++c) y[3 * i + c] = narrow<T>(out.v[c]);
  }
}

/// The arguments are in this order, as std::max and std::min choose of NaN and equal numbers.
template <class T>
TOWERFLOW_DEVICE T highest(const Colour<T>& x) {
  return larger(x.v[0], larger(x.v[1], x.v[2]));
}
template <class T>
TOWERFLOW_DEVICE T lowest_of(const Colour<T>& x) {
  return smaller(x.v[0], smaller(x.v[1], x.v[2]));
}

/// `norm` is 1 / (6 range).
template <class T>
TOWERFLOW_DEVICE T hue_of(const Colour<T>& x, T value, T range, T norm) {
  T hue = norm * (x.v[0] - x.v[1]) + T(4) / T(6);
  if (x.v[1] == value) hue = norm * (x.v[2] - x.v[0]) + T(2) / T(6);
  if (x.v[0] == value) hue = norm * (x.v[1] - x.v[2]);
  if (!(range > T(0))) hue = T(0);
  return hue < T(0) ? hue + T(1) : hue;
}

template <class T>
TOWERFLOW_DEVICE Colour<T> rgb_to_hsv(const Colour<T>& x) {
  const T value = highest(x), range = value - lowest_of(x);
  const T norm = T(1) / range * (T(1) / T(6));
  return {{hue_of(x, value, range, norm), value > T(0) ? range / value : T(0), value}};
}

template <class T>
TOWERFLOW_DEVICE Colour<T> hsv_to_rgb(const Colour<T>& x) {
  const auto limited = [](T part) { return smaller(larger(part, T(0)), T(1)); };
  const T sector = x.v[0] * T(6), saturation = x.v[1], value = x.v[2];
  const Colour<T> pure{{limited(std::fabs(sector - T(3)) - T(1)),
                        limited(T(2) - std::fabs(sector - T(2))),
                        limited(T(2) - std::fabs(sector - T(4)))}};
  Colour<T> rgb;
  for (int c = 0; c < 3; ++c) rgb.v[c] = (T(1) - saturation + saturation * pure.v[c]) * value;
  return rgb;
}

/// Returns whichever of three numbers has a number: a table would lie in memory.
TOWERFLOW_DEVICE float chosen(int which, float first, float second, float third) {
  return which == 0 ? first : which == 1 ? second : third;
}

/// Turns the hue by `turn` sixths of a circle.
TOWERFLOW_DEVICE Colour<float> turn_hue(const Colour<float>& x, float turn) {
  const TurnedHue turned(x.v[0], x.v[1], x.v[2], turn);
  // Which of high, middle and low each channel has, two bits for each sector.
  constexpr int kRed = 0b00'01'10'10'01'00, kGreen = 0b10'10'01'00'00'01,
                kBlue = 0b01'00'00'01'10'10;
  const auto part = [&](int table) {
    return chosen(table >> 2 * turned.sector & 3, turned.high, turned.middle, turned.low);
  };
  return {{part(kRed), part(kGreen), part(kBlue)}};
}

/// Multiplies the saturation of a colour, whose hue and largest number stay the same.
TOWERFLOW_DEVICE Colour<float> scale_saturation(const Colour<float>& x, float scale) {
  const float value = highest(x), range = value - lowest_of(x);
  const float hue = hue_of(x, value, range, 1.0F / (6.0F * range));
  const float saturation = value > 0 ? range / value : 0.0F;
  const float chroma = smaller(1.0F, larger(0.0F, saturation * scale)) * value;
  const float least = value - chroma, sector = hue * 6;
  const float middle = chroma * (1 - std::fabs(sector - 2 * std::floor(sector / 2) - 1));
  const int which = sector >= 0 && sector < 6 ? static_cast<int>(sector) : 6;
  // Which of 0, middle and chroma each channel has, two bits for each sector; the last for none.
  constexpr int kRed = 0b00'10'01'00'00'01'10, kGreen = 0b00'00'00'01'10'10'01,
                kBlue = 0b00'01'10'10'01'00'00;
  const auto part = [&](int table) {
    return chosen(table >> 2 * which & 3, 0.0F, middle, chroma) + least;
  };
  return {{part(kRed), part(kGreen), part(kBlue)}};
}

}  // namespace

#define TOWERFLOW_SPACES(name, T)                                                    \
  TOWERFLOW_KERNEL(RGBToHSV_##name, 256, const T* x, T* y, int64 pixels) {           \
    for_pixels(x, y, pixels, [](const auto& colour) { return rgb_to_hsv(colour); }); \
  }                                                                                  \
  TOWERFLOW_KERNEL(HSVToRGB_##name, 256, const T* x, T* y, int64 pixels) {           \
    for_pixels(x, y, pixels, [](const auto& colour) { return hsv_to_rgb(colour); }); \
  }
TOWERFLOW_SPACES(float32, float)
TOWERFLOW_SPACES(float64, double)

TOWERFLOW_KERNEL(AdjustHue_float32, 256, const float* x, const float* delta, float* y,
                 int64 pixels) {
  const float turn = *delta * 6;
  for_pixels(x, y, pixels, [=](const Colour<float>& colour) { return turn_hue(colour, turn); });
}
TOWERFLOW_KERNEL(AdjustSaturation_float32, 256, const float* x, const float* scale, float* y,
                 int64 pixels) {
  const float factor = *scale;
  for_pixels(x, y, pixels,
             [=](const Colour<float>& colour) { return scale_saturation(colour, factor); });
}

}  // namespace towerflow::cuda::device
