#pragma once

#include "ops/array/cast.h"

namespace towerflow {

/// The same as `cast` with this dtype; the nodes are named "ToFloat", "ToDouble" and so on.
/// (tf.to_float, tf.to_double, tf.to_int32, tf.to_int64)
Tensor to_float(const Operand& x, CastOptions options = {}, Site site = Site::current());
Tensor to_double(const Operand& x, CastOptions options = {}, Site site = Site::current());
Tensor to_int32(const Operand& x, CastOptions options = {}, Site site = Site::current());
Tensor to_int64(const Operand& x, CastOptions options = {}, Site site = Site::current());

}  // namespace towerflow
