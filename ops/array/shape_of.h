#pragma once

#include <string>
#include <vector>

#include "core/graph/operand.h"
#include "ops/operand_list.h"

namespace towerflow {

struct ShapeOptions {
  std::string name{};
  DType out_type = DType::int32;  ///< int32 or int64
};

/// Returns the shape of a tensor as a vector; a constant if it is known when the graph is built.
///
/// shapes   input [d0..] -> [rank]     dtypes  any -> int32, int64
/// grads    none: shapes are integers
/// source   tf.shape
Tensor shape(const Operand& input, ShapeOptions options = {}, Site site = Site::current());

/// Returns the shapes of several tensors.
///
/// shapes   each input [d0..] -> [rank]     dtypes  any, the same for all -> int32, int64
/// grads    none: shapes are integers
/// errors   TypeError: dtypes that differ, out_type
/// source   tf.shape_n
std::vector<Tensor> shape_n(const OperandList& input, ShapeOptions options = {},
                            Site site = Site::current());

/// As `shape`, but never a constant. (gen_array_ops.shape)
Tensor runtime_shape(const Tensor& input, Site site);

/// Returns the sizes of a fully known shape as a vector of int32 or int64.
Array shape_vector(const Shape& shape, DType dtype);

}  // namespace towerflow
