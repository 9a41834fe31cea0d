#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "core/graph/error.h"
#include "ops/image/resize_attrs.h"
#include "ops/image/resize_taps.h"
#include "ops/kernel_dims.h"

namespace towerflow::image {

/// The sizes of a batch of images and of their resized form.
struct ResizedImages {
  /// `size` is an Array of the new height and width.
  ResizedImages(const Shape& images, const Array& size) {
    require_images(images);
    const std::vector<std::int64_t> values = integers_of(size);
    if (size.shape().rank() != 1 || values.size() != 2) {
      throw errors::InvalidArgumentError(fmt::format(
          "the size of resized images must be two numbers, got shape {}", size.shape().text()));
    }
    set(images, values[0], values[1]);
  }
  ResizedImages(const Shape& images, const Shape& result) {
    require_images(images);
    require_images(result);
    set(images, result.size(1), result.size(2));
  }

  std::int64_t number = 0, height = 0, width = 0, channels = 0, new_height = 0, new_width = 0;

 private:
  static void require_images(const Shape& shape) {
    if (shape.rank() == 4 && shape.size(1) > 0 && shape.size(2) > 0 && shape.size(3) > 0) return;
    throw errors::InvalidArgumentError(
        fmt::format("resized images must be 4-dimensional and have pixels and channels, got "
                    "shape {}",
                    shape.text()));
  }
  void set(const Shape& images, std::int64_t to_height, std::int64_t to_width) {
    number = images.size(0);
    height = images.size(1);
    width = images.size(2);
    channels = images.size(3);
    new_height = to_height;
    new_width = to_width;
    if (to_height <= 0 || to_width <= 0) {
      throw errors::InvalidArgumentError(
          fmt::format("output dimensions must be positive, got {} and {}", to_height, to_width));
    }
    const std::int64_t most = std::numeric_limits<std::int32_t>::max();
    if (height > most || width > most || to_height > most || to_width > most)
      throw errors::InvalidArgumentError("sizes of resized images must be below 2^31");
  }
};

inline void check_pixel_centers(PixelCenters centers) {
  if (!centers.align_corners || !centers.half_pixel_centers) return;
  throw errors::InvalidArgumentError("If half_pixel_centers is True, align_corners must be False.");
}

/// Returns the attributes of any op that resizes.
inline PixelCenters centers_of(const Attrs& attrs) {
  if (const auto* area = attrs.get_if<ResizeAreaAttrs>()) return {area->align_corners, false};
  const auto& resize = attrs.as<ResizeAttrs>();
  return {resize.align_corners, resize.half_pixel_centers};
}

}  // namespace towerflow::image
