#pragma once

#include "ops/array/cast.h"

namespace towerflow {

/// The same as `cast` with this dtype; the nodes are named "ToFloat", "ToDouble", ..
/// (tf.to_float, tf.to_double, tf.to_int32, tf.to_int64)
Tensor to_float(const Operand& x, CastOptions options = {}, Site site = Site::current());
Tensor to_double(const Operand& x, CastOptions options = {}, Site site = Site::current());
Tensor to_int32(const Operand& x, CastOptions options = {}, Site site = Site::current());
Tensor to_int64(const Operand& x, CastOptions options = {}, Site site = Site::current());

/// Converts values to another dtype; those outside its range become its lowest or highest value,
/// or the nearest one that the dtype of `value` has.
///
/// shapes   value [...] -> [...]     dtypes  numbers to numbers
/// grads    value: dy cast back where the value is in range, between floating dtypes only
/// errors   TypeError: bools and strings
/// source   tf.saturate_cast
Tensor saturate_cast(const Operand& value, DType dtype, CastOptions options = {},
                     Site site = Site::current());

}  // namespace towerflow
