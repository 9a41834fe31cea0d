#pragma once

#include <string>

#include "core/device/tensor_desc.h"

namespace towerflow {

/// Returns the first `limit` elements of a tensor, all if it is negative, as TensorFlow prints them
/// in assertions and with tf.Print: "1 2 3...", "[1 2][3...]...".
std::string summarize_value(DType dtype, const Shape& shape, const void* data, std::int64_t limit);

}  // namespace towerflow
