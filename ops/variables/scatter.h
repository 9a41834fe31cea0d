#pragma once

#include "ops/variables/variable.h"

namespace towerflow {

struct ScatterUpdateOptions {
  bool use_locking = true;  ///< no effect: updates are always atomic
  std::string name{};
};

/// Changes rows of a variable: writes row i of `updates` to row indices[i]. The result reads the
/// variable after the write. Repeated rows are changed repeatedly, in order.
///
/// shapes   variable [d0, d1, ..], indices [n..], updates [n.., d1, ..] or []
/// dtypes   scatter_update all, add, sub, mul and div numbers, min and max float32, float64, int32,
///          int64; indices int32, int64
/// grads    none: a write is not a function of the loss
/// errors   ValueError: shapes that do not match; TypeError: dtypes; at run time
///          InvalidArgumentError: an index out of range, an integer divided by zero; nothing is
///          written then
/// source   tf.scatter_update
Tensor scatter_update(const Variable& variable, const Operand& indices, const Operand& updates,
                      ScatterUpdateOptions options = {}, Site site = Site::current());
/// Adds rows. (tf.scatter_add)
Tensor scatter_add(const Variable& variable, const Operand& indices, const Operand& updates,
                   UpdateOptions options = {}, Site site = Site::current());
/// Subtracts rows. (tf.scatter_sub)
Tensor scatter_sub(const Variable& variable, const Operand& indices, const Operand& updates,
                   UpdateOptions options = {}, Site site = Site::current());
/// Multiplies rows. (tf.scatter_mul)
Tensor scatter_mul(const Variable& variable, const Operand& indices, const Operand& updates,
                   UpdateOptions options = {}, Site site = Site::current());
/// Divides rows; integers are truncated towards zero. (tf.scatter_div)
Tensor scatter_div(const Variable& variable, const Operand& indices, const Operand& updates,
                   UpdateOptions options = {}, Site site = Site::current());
/// Keeps the smaller numbers. (tf.scatter_min)
Tensor scatter_min(const Variable& variable, const Operand& indices, const Operand& updates,
                   UpdateOptions options = {}, Site site = Site::current());
/// Keeps the larger numbers. (tf.scatter_max)
Tensor scatter_max(const Variable& variable, const Operand& indices, const Operand& updates,
                   UpdateOptions options = {}, Site site = Site::current());

/// Changes slices of a variable: each row of k numbers in `indices` is an index into its first k
/// dimensions.
///
/// shapes   variable [d0, .., dr], indices [.., k], updates [.., dk, .., dr]
/// dtypes   scatter_nd_update all, add and sub numbers; indices int32, int64
/// grads    none: a write is not a function of the loss
/// errors   ValueError: shapes that do not match; TypeError: dtypes; at run time
///          InvalidArgumentError: an index out of range; nothing is written then
/// source   tf.scatter_nd_update
Tensor scatter_nd_update(const Variable& variable, const Operand& indices, const Operand& updates,
                         ScatterUpdateOptions options = {}, Site site = Site::current());
/// Adds slices. (tf.scatter_nd_add)
Tensor scatter_nd_add(const Variable& variable, const Operand& indices, const Operand& updates,
                      UpdateOptions options = {}, Site site = Site::current());
/// Subtracts slices. (tf.scatter_nd_sub)
Tensor scatter_nd_sub(const Variable& variable, const Operand& indices, const Operand& updates,
                      UpdateOptions options = {}, Site site = Site::current());

}  // namespace towerflow
