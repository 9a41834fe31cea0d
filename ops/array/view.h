#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/graph/operand.h"

namespace towerflow {

/// Ops whose output has the elements of their input under another shape or name. The planner gives
/// both the same memory; nothing is copied unless a variable behind it is written meanwhile.

struct NameOption {
  std::string name{};
};

/// Returns the same value under another name.
///
/// shapes   input [...] -> [...]     dtypes  all
/// grads    input: dy
/// source   tf.identity
Tensor identity(const Operand& input, NameOption options = {}, Site site = Site::current());
/// Of slices: of values, indices and shape. As in TensorFlow, only a dense gradient gets `name`.
template <GradientLike T>
Gradient identity(const T& input, NameOption options = {}, Site site = Site::current()) {
  const Gradient gradient = PresentGradient(input, site).gradient();
  if (!gradient.is_dense()) options.name.clear();
  return gradient.mapped([&](const Tensor& part) { return identity(part, options, site); });
}

/// Returns the same value, but stops the gradient.
///
/// shapes   input [...] -> [...]     dtypes  all
/// grads    none: the op exists to stop them
/// source   tf.stop_gradient
Tensor stop_gradient(const Operand& input, NameOption options = {}, Site site = Site::current());
template <GradientLike T>
Gradient stop_gradient(const T& input, NameOption options = {}, Site site = Site::current()) {
  const Gradient gradient = PresentGradient(input, site).gradient();
  if (!gradient.is_dense()) options.name.clear();
  return gradient.mapped([&](const Tensor& part) { return stop_gradient(part, options, site); });
}

/// Reshapes a tensor; one size may be -1 and is then inferred.
///
/// shapes   tensor [...], shape [r] (int32 or int64) -> sizes in `shape`
/// dtypes   all
/// grads    tensor: dy reshaped back
/// errors   ValueError: the number of elements differs, more than one -1
/// source   tf.reshape
Tensor reshape(const Operand& tensor, const Operand& shape, NameOption options = {},
               Site site = Site::current());

/// Inserts a dimension of size 1 before `axis` (from -rank-1 to rank).
///
/// shapes   input [d0..], axis [] -> [.., 1, ..]     dtypes  all
/// grads    input: dy reshaped back
/// errors   ValueError: axis out of range
/// source   tf.expand_dims
Tensor expand_dims(const Operand& input, const Operand& axis, NameOption options = {},
                   Site site = Site::current());

struct SqueezeOptions {
  std::vector<int> axis{};  ///< the dimensions to remove; if empty, all of size 1
  std::string name{};
};

/// Removes dimensions of size 1.
///
/// shapes   input [.., 1, ..] -> without them     dtypes  all
/// grads    input: dy reshaped back
/// errors   ValueError: a listed dimension is not 1
/// source   tf.squeeze
Tensor squeeze(const Operand& input, SqueezeOptions options = {}, Site site = Site::current());

}  // namespace towerflow
