#pragma once

#include <array>
#include <string>
#include <string_view>

#include "core/graph/operand.h"
#include "ops/nn/window_args.h"

namespace towerflow::image {

struct ExtractImagePatchesOptions {
  std::string name{};
};

/// Returns the pixels in each of several windows, which may overlap. `ksizes` are the sizes of a
/// window, `strides` the distances of neighbouring ones, and `rates` those of neighbouring pixels
/// in a window. Pixels outside the image are 0.
///
/// shapes   images [n, h, w, c] -> [n, p, q, kh * kw * c]; SAME: p = ceil(h / sh);
///          VALID: p = ceil((h - kh - (kh - 1) * (rh - 1) + 1) / sh)
/// dtypes   numbers, bool
/// grads    images
/// errors   ValueError: not four dimensions, a window or stride < 1, a VALID window larger than the
///          image, windows over images or channels, unknown padding; TypeError: strings
/// source   tf.image.extract_image_patches, tf.extract_image_patches
Tensor extract_image_patches(const Operand& images, const nn::Extents& ksizes,
                             const nn::Extents& strides, const nn::Extents& rates,
                             std::string_view padding, ExtractImagePatchesOptions options = {},
                             Site site = Site::current());

struct TotalVariationOptions {
  std::string name{};
};

/// Returns the sum of the absolute differences of neighbouring pixels, a measure of noise.
///
/// shapes   images [h, w, c] -> []; [n, h, w, c] -> [n]      dtypes  numbers
/// grads    images
/// errors   ValueError: not 3 or 4 dimensions
/// source   tf.image.total_variation
Tensor total_variation(const Tensor& images, TotalVariationOptions options = {},
                       Site site = Site::current());

}  // namespace towerflow::image
