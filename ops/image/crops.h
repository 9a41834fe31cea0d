#pragma once

#include <cstdint>
#include <exception>

#include "core/device/kernel.h"

namespace towerflow::image {

/// The sizes of images and of the crops that are made of them.
struct Crops {
  Crops(const Shape& image, const Shape& crop, bool nearest_pixels);
  std::int64_t images, height, width, channels, boxes, crop_height, crop_width;
  bool nearest;

  std::int64_t image_elements() const { return height * width * channels; }
  std::int64_t crop_elements() const { return crop_height * crop_width * channels; }

  /// Returns the image of a box. Throws OutOfRangeError or InvalidArgumentError for a bad box.
  std::int64_t image_of(const float* box, const std::int32_t* image, std::int64_t index) const;
  /// Return what is thrown for box number `index`.
  static std::exception_ptr not_finite(std::int64_t index);
  std::exception_ptr no_image(std::int64_t image, std::int64_t index) const;
};

// The sizes of CropAndResize and its gradients. They throw InvalidArgumentError for operands that
// do not fit.
Crops crops_of(const KernelRequest& request);
Crops crops_of_grad_image(const KernelRequest& request);
Crops crops_of_grad_boxes(const KernelRequest& request);

}  // namespace towerflow::image
