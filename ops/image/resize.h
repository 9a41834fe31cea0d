#pragma once

#include <cstdint>
#include <string>

#include "core/graph/operand.h"

namespace towerflow::image::types {

/// How the pixels of a resized image are found; see the functions of these names.
enum class ResizeMethod : std::uint8_t { BILINEAR, NEAREST_NEIGHBOR, BICUBIC, AREA };

}  // namespace towerflow::image::types

namespace towerflow::image {

using namespace types;

struct ResizeImagesOptions {
  ByName by_name = ByName();
  bool align_corners = false;          ///< whether the centres of corner pixels stay at the corners
  bool preserve_aspect_ratio = false;  ///< whether `size` is only the largest size
  std::string name{};
};

/// Resizes images. Those that have the size already are returned as they are.
///
/// shapes   images [n, h, w, c] or [h, w, c], size [2] -> the same with height and width of `size`
/// dtypes   images real numbers, size int32 -> float32; of NEAREST_NEIGHBOR, as images
/// grads    images, but for AREA; as the op
/// errors   ValueError: not 3 or 4 dimensions, a size that is not two integers; at run time
///          InvalidArgumentError: a size that is not positive
/// source   tf.image.resize_images
Tensor resize_images(const Operand& images, const Operand& size,
                     image::ResizeMethod method = image::ResizeMethod::BILINEAR,
                     ResizeImagesOptions options = {}, Site site = Site::current());
inline Tensor resize_images(const Operand& images, const Operand& size, ResizeImagesOptions options,
                            Site site = Site::current()) {
  return resize_images(images, size, ResizeMethod::BILINEAR, std::move(options), site);
}

struct ResizeOptions {
  bool align_corners = false;  ///< whether the centres of corner pixels stay at the corners
  std::string name{};
  bool half_pixel_centers = false;  ///< whether the centre of the first pixel is at 0.5, not 0
};

/// Resizes images; each pixel is interpolated between the nearest four.
///
/// shapes   images [n, h, w, c], size [2] -> [n, size[0], size[1], c]
/// dtypes   images real numbers, size int32 -> float32
/// grads    images, if they are floating-point numbers; no second one
/// errors   ValueError: not four dimensions, a size that is not two numbers; TypeError: another
///          dtype; at run time InvalidArgumentError: images or a size without pixels, both options
/// source   tf.image.resize_bilinear
Tensor resize_bilinear(const Operand& images, const Operand& size, ResizeOptions options = {},
                       Site site = Site::current());

/// Resizes images; each pixel is that of the nearest place.
///
/// shapes   as resize_bilinear      dtypes  images real numbers, size int32 -> as images
/// grads    images: the sum of dy; a second derivative is a LookupError, as in TensorFlow
/// errors   as resize_bilinear, but both options may be set
/// source   tf.image.resize_nearest_neighbor
Tensor resize_nearest_neighbor(const Operand& images, const Operand& size,
                               ResizeOptions options = {}, Site site = Site::current());

/// Resizes images; each pixel is a cubic interpolation of the nearest sixteen.
///
/// shapes, dtypes, errors   as resize_bilinear
/// grads    images, if they are floating-point numbers; a second one is a LookupError
/// source   tf.image.resize_bicubic; Keys 1981
Tensor resize_bicubic(const Operand& images, const Operand& size, ResizeOptions options = {},
                      Site site = Site::current());

struct ResizeAreaOptions {
  bool align_corners = false;  ///< whether the centres of corner pixels stay at the corners
  std::string name{};
};

/// Resizes images; each pixel is the mean of the area that it covers.
///
/// shapes, dtypes, errors   as resize_bilinear
/// grads    none: a gradient that reaches it is a LookupError, as in TensorFlow
/// source   tf.image.resize_area
Tensor resize_area(const Operand& images, const Operand& size, ResizeAreaOptions options = {},
                   Site site = Site::current());

}  // namespace towerflow::image
