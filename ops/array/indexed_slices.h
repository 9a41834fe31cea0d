#pragma once

#include <string>

#include "core/graph/operand.h"

namespace towerflow {

struct ConvertOptions {
  std::optional<DType> dtype{};  ///< what it must be, or become if it is a value
  std::string name{};
};

/// The operand as a tensor: itself, or a constant made of it. Slices become dense: rows that repeat
/// add up, all others are zero.
///
/// shapes   slices with values [n, d1, ..], indices [n], dense_shape (d0, d1, ..) -> [d0, d1, ..]
/// errors   ValueError: a tensor of another dtype than asked for, slices without a dense_shape, a
///          gradient that is absent
/// source   tf.convert_to_tensor
Tensor convert_to_tensor(const Operand& value, ConvertOptions options = {},
                         Site site = Site::current());

/// What gradient rules call: a gradient that is there, made dense.
inline Tensor dense_gradient(const OptionalGradient& gradient, Site site) {
  return gradient->is_dense() ? gradient->dense()
                              : densify(gradient->slices(), "", std::nullopt, site);
}

}  // namespace towerflow
