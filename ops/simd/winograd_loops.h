#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/window.h"

namespace towerflow::simd {

/// Convolutions of stride 1 by minimal filtering (Winograd 1980; Lavin and Gray 2015, "Fast
/// Algorithms for Convolutional Neural Networks"): a tile of 6 x 6 inputs and the filter are each
/// evaluated at 36 points, multiplied there, and transformed back to (7 - window)^2 results.
/// Windows of 5 x 5 then need 36 products instead of 100, and windows of 3 x 3 need 36 instead of
/// 144. The points on each axis are 0, 1, -1, 1/2, -2 and infinity. The rounding error is about 3
/// times that of a direct sum, 6 times in the gradient of the filter.
inline constexpr std::int64_t kWinogradPoints = 36;

/// Number of tiles processed together, so that their values stay in the L2 cache.
inline constexpr std::int64_t kWinogradBlock = 48;

/// Returns the bytes of scratch memory, aligned to 64 bytes, of `convolve` and `filter_gradient`.
inline std::size_t winograd_scratch_bytes(const ConvGeometry& g) {
  return sizeof(float) *
         static_cast<std::size_t>(kWinogradPoints *
                                  (kWinogradBlock * (g.in_channels + g.out_channels) + 32));
}

/// Windows are 5 x 5 or 3 x 3, strides are 1, channels are multiples of 16.
struct WinogradLoops {
  /// Whether this instruction set has fused multiply-add. Without it nothing would be gained, and
  /// the other members are null.
  bool present;

  /// at_points [36, in, out] = filter [window, window, in, out] at the points, for input channels
  /// first .. last - 1. `turned`: of the filter rotated by 180 degrees.
  void (*filter_at_points)(std::int64_t window, bool turned, const float* filter, std::int64_t in,
                           std::int64_t out, std::int64_t first, std::int64_t last,
                           float* at_points);

  /// y = conv2d(x, filter) [+ bias, if not null] [then relu; NaN stays NaN], for images first ..
  /// last - 1. x and y point to image 0.
  void (*convolve)(const ConvGeometry& g, std::int64_t first, std::int64_t last, const float* x,
                   const float* at_points, const float* bias, bool relu, float* y, float* scratch);

  /// sums [36, in, out] += the filter's gradient at the points, for images first .. last - 1.
  void (*filter_gradient)(const ConvGeometry& g, std::int64_t first, std::int64_t last,
                          const float* x, const float* dy, float* sums, float* scratch);

  /// dfilter [window, window, in, out] from its values at the points, for input channels
  /// first .. last - 1.
  void (*filter_from_points)(std::int64_t window, const float* sums, std::int64_t in,
                             std::int64_t out, std::int64_t first, std::int64_t last,
                             float* dfilter);
};

}  // namespace towerflow::simd
