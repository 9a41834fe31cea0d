#include "ops/image/resize_taps.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace towerflow::image {
namespace {

/// Returns where pixel `i` of the result lies in the input.
float place_of(std::int64_t i, float scale, bool half_pixel_centers) {
  const auto whole = static_cast<float>(i);
  return half_pixel_centers ? (whole + 0.5F) * scale - 0.5F : whole * scale;
}

std::int64_t limited_place(std::int64_t place, std::int64_t size) {
  return std::clamp<std::int64_t>(place, 0, size - 1);
}

constexpr std::int64_t kCubicSteps = 1024;  // to which TensorFlow rounds a place between pixels

/// Returns the weight of a pixel at a distance of `step` / kCubicSteps, at most 1.
float near_cubic_weight(std::int64_t step, float a) {
  const float x = static_cast<float>(step) / static_cast<float>(kCubicSteps);
  return ((a + 2) * x - (a + 3)) * x * x + 1;
}

/// Returns the weight of a pixel at a distance of 1 + `step` / kCubicSteps.
float far_cubic_weight(std::int64_t step, float a) {
  const float x = static_cast<float>(step) / static_cast<float>(kCubicSteps) + 1;
  return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
}

}  // namespace

float resize_scale(std::int64_t in, std::int64_t out, bool align_corners) {
  return align_corners && out > 1 ? static_cast<float>(in - 1) / static_cast<float>(out - 1)
                                  : static_cast<float>(in) / static_cast<float>(out);
}

Taps bilinear_taps(std::int64_t in, std::int64_t out, PixelCenters centers) {
  Taps taps;
  const float scale = resize_scale(in, out, centers.align_corners);
  for (std::int64_t i = 0; i < out; ++i) {
    const float place = place_of(i, scale, centers.half_pixel_centers);
    const float below = std::floor(place);
    const float share = place - below;
    taps.add(limited_place(static_cast<std::int64_t>(below), in), 1 - share);
    taps.add(limited_place(static_cast<std::int64_t>(std::ceil(place)), in), share);
    taps.finish();
  }
  return taps;
}

Taps bicubic_taps(std::int64_t in, std::int64_t out, PixelCenters centers) {
  Taps taps;
  const float scale = resize_scale(in, out, centers.align_corners);
  const bool keys = centers.half_pixel_centers;
  const float a = keys ? -0.5F : -0.75F;
  for (std::int64_t i = 0; i < out; ++i) {
    const float place = place_of(i, scale, centers.half_pixel_centers);
    const auto below = static_cast<std::int64_t>(std::floor(place));
    const std::int64_t step =
        std::lrint((place - static_cast<float>(below)) * static_cast<float>(kCubicSteps));
    float weights[4] = {far_cubic_weight(step, a), near_cubic_weight(step, a),
                        near_cubic_weight(kCubicSteps - step, a),
                        far_cubic_weight(kCubicSteps - step, a)};
    // With half-pixel centres, pixels outside the image count for nothing.
    float sum = 0;
    for (std::int64_t k = 0; k < 4; ++k) {
      const std::int64_t at = below - 1 + k;
      if (keys && at != limited_place(at, in)) weights[k] = 0;
      sum += weights[k];
    }
    const bool normal = keys && std::abs(sum) >= 1000 * std::numeric_limits<float>::min();
    for (std::int64_t k = 0; k < 4; ++k)
      taps.add(limited_place(below - 1 + k, in), normal ? weights[k] * (1 / sum) : weights[k]);
    taps.finish();
  }
  return taps;
}

Taps nearest_taps(std::int64_t in, std::int64_t out, PixelCenters centers) {
  Taps taps;
  const float scale = resize_scale(in, out, centers.align_corners);
  for (std::int64_t i = 0; i < out; ++i) {
    const float whole = static_cast<float>(i) + (centers.half_pixel_centers ? 0.5F : 0.0F);
    const float place =
        centers.align_corners ? std::round(whole * scale) : std::floor(whole * scale);
    taps.add(limited_place(static_cast<std::int64_t>(place), in), 1);
    taps.finish();
  }
  return taps;
}

Taps area_taps(std::int64_t in, std::int64_t out, bool align_corners) {
  Taps taps;
  const float scale = resize_scale(in, out, align_corners && in > 1);
  for (std::int64_t i = 0; i < out; ++i) {
    const float begin = static_cast<float>(i) * scale, end = static_cast<float>(i + 1) * scale;
    const auto last = static_cast<std::int64_t>(std::ceil(end));
    for (auto at = static_cast<std::int64_t>(std::floor(begin)); at < last; ++at) {
      const auto low = static_cast<float>(at);
      const bool ends_inside = low + 1 > end;
      const float covered =
          low < begin ? (ends_inside ? scale : low + 1 - begin) : (ends_inside ? end - low : 1.0F);
      taps.add(limited_place(at, in), covered / scale);
    }
    taps.finish();
  }
  return taps;
}

}  // namespace towerflow::image
