#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ops/operand_list.h"

namespace towerflow {

struct StackOptions {
  ByName by_name = ByName();
  int axis = 0;  ///< position of the new dimension, from -rank-1 to rank
  std::string name{};
};

/// Stacks tensors of one shape along a new dimension (op Pack); a list of numbers becomes a
/// constant.
///
/// shapes   n values [d0, ..] -> [.., n, ..]     dtypes  all, the same for all values
/// grads    values: dy unstacked
/// errors   ValueError: shapes differ, axis out of range; TypeError: dtypes differ
/// source   tf.stack
Tensor stack(const OperandList& values, StackOptions options = {}, Site site = Site::current());
/// With the axis second, as in TensorFlow.
inline Tensor stack(const OperandList& values, int axis, StackOptions options = {},
                    Site site = Site::current()) {
  options.axis = axis;
  return stack(values, std::move(options), site);
}

struct UnstackOptions {
  ByName by_name = ByName();
  int axis = 0;
  std::string name{};
};

/// Returns the slices of a tensor along one dimension, which is removed (op Unpack).
///
/// shapes   value [.., n, ..] -> n times without it     dtypes  all
/// grads    value: dys stacked, zeros for absent ones
/// errors   ValueError: n neither known nor given, axis out of range
/// source   tf.unstack
std::vector<Tensor> unstack(const Operand& value, std::optional<int> num = std::nullopt,
                            UnstackOptions options = {}, Site site = Site::current());
inline std::vector<Tensor> unstack(const Operand& value, UnstackOptions options,
                                   Site site = Site::current()) {
  return unstack(value, std::nullopt, std::move(options), site);
}

}  // namespace towerflow
