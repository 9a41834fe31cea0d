#pragma once

#include <cstdint>

#include "ops/image/resample.h"

namespace towerflow::image {

/// How places in a resized image correspond to those in the original.
struct PixelCenters {
  bool align_corners = false;
  bool half_pixel_centers = false;
};

/// Returns the distance of neighbouring pixels of the result, in pixels of the input.
float resize_scale(std::int64_t in, std::int64_t out, bool align_corners);

// Each returns how `in` rows become `out`, both positive, with TensorFlow's float32 weights.
Taps bilinear_taps(std::int64_t in, std::int64_t out, PixelCenters centers);
Taps bicubic_taps(std::int64_t in, std::int64_t out, PixelCenters centers);
Taps nearest_taps(std::int64_t in, std::int64_t out, PixelCenters centers);
/// The weights of an output add up to its size in pixels of the input, divided by it.
Taps area_taps(std::int64_t in, std::int64_t out, bool align_corners);

}  // namespace towerflow::image
