#pragma once

#include <string>

#include "core/graph/operand.h"

namespace towerflow {

struct ConvertOptions {
  std::optional<DType> dtype{};  ///< of the result; a tensor must have it already
  std::string name{};
};

/// Converts the operand to a tensor: itself, or a constant made of it. Slices become dense:
/// repeated rows are summed, missing rows are zero.
///
/// shapes   slices with values [n, d1, ..], indices [n], dense_shape (d0, d1, ..) -> [d0, d1, ..]
/// errors   ValueError: a tensor of a dtype other than requested, slices without a dense_shape, an
///          absent gradient
/// source   tf.convert_to_tensor
Tensor convert_to_tensor(const Operand& value, ConvertOptions options = {},
                         Site site = Site::current());

/// Makes a present gradient dense; for gradient functions.
inline Tensor dense_gradient(const OptionalGradient& gradient, Site site) {
  return gradient->is_dense() ? gradient->dense()
                              : densify(gradient->slices(), "", std::nullopt, site);
}

}  // namespace towerflow
