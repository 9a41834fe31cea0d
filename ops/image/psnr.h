#pragma once

#include <string>

#include "core/graph/operand.h"

namespace towerflow::image {

struct PsnrOptions {
  std::string name{};
};

/// Returns the peak signal-to-noise ratio of images, in decibels: 20 log10(max_val) - 10 log10 of
/// the mean squared difference. `max_val` is the range of the pixels: 1 for floats, 255 for uint8.
///
/// shapes   a, b [.., height, width, channels], where .. broadcast; max_val [] -> [..]
/// dtypes   float32, float64 and those of convert_image_dtype -> float32      grads  a, b of floats
/// errors   ValueError: shapes that do not fit; at run time InvalidArgumentError: the same
/// source   tf.image.psnr
Tensor psnr(const Tensor& a, const Tensor& b, const ScalarOperand& max_val,
            PsnrOptions options = {}, Site site = Site::current());

}  // namespace towerflow::image
