#pragma once

#include <string>

#include "core/graph/operand.h"

namespace towerflow {

struct ConvertOptions {
  std::optional<DType> dtype{};  ///< what it must be, or become if it is a value
  std::string name{};
};

/// The operand as a tensor: itself, or a constant made of it. (tf.convert_to_tensor)
/// Throws ValueError for a tensor of another dtype than asked for.
Tensor convert_to_tensor(const Operand& value, ConvertOptions options = {},
                         Site site = Site::current());

inline Tensor convert_to_tensor(const Tensor& value, ConvertOptions options = {},
                                Site site = Site::current()) {
  return convert_to_tensor(Operand(value, site), std::move(options), site);
}

/// Slices as a dense tensor: rows that repeat add up, all others are zero.
///
/// shapes   values [n, d1, ..], indices [n], dense_shape (d0, d1, ..) -> [d0, d1, ..]
/// errors   ValueError: slices without a dense_shape
/// source   tf.convert_to_tensor of tf.IndexedSlices
Tensor convert_to_tensor(const IndexedSlices& slices, ConvertOptions options = {},
                         Site site = Site::current());

/// A gradient as a dense tensor.
Tensor convert_to_tensor(const Gradient& gradient, ConvertOptions options = {},
                         Site site = Site::current());

/// What gradient rules call: a gradient that is there, made dense.
inline Tensor dense_gradient(const OptionalGradient& gradient, Site site) {
  return gradient->is_dense() ? gradient->dense() : convert_to_tensor(*gradient, {}, site);
}

}  // namespace towerflow
