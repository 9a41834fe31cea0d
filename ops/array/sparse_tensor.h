#pragma once

#include "core/graph/tensor.h"

namespace towerflow::types {

/// A tensor with few nonzero elements. (tf.SparseTensor)
struct SparseTensor {
  Tensor indices;      ///< int64 [n, rank], in row-major order
  Tensor values;       ///< [n]
  Tensor dense_shape;  ///< int64 [rank]
};

}  // namespace towerflow::types
