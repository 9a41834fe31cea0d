#pragma once

#include <string>

#include "core/graph/operand.h"

namespace towerflow::image {

struct ConvertImageDtypeOptions {
  bool saturate = false;  ///< whether numbers outside the range of the new dtype are clipped to it
  std::string name{};
};

/// Converts an image to another dtype and scales it: floating-point numbers are from 0 to 1,
/// integers from 0 to the highest of their dtype.
///
/// shapes   image [...] -> [...]      dtypes  floating-point numbers and integers to each other
/// grads    image: dy scaled, between floating dtypes only
/// errors   TypeError: strings, bools
/// source   tf.image.convert_image_dtype
Tensor convert_image_dtype(const Operand& image, DType dtype, ConvertImageDtypeOptions options = {},
                           Site site = Site::current());

}  // namespace towerflow::image
