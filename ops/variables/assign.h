#pragma once

#include "ops/variables/variable.h"

namespace towerflow {

struct AssignOptions {
  bool validate_shape = true;
  bool use_locking = true;  ///< no effect: writes are always atomic
  std::string name{};
};

/// Writes `value` into the variable. The result reads the variable after the write.
///
/// shapes   value as the variable     dtypes  the variable's
/// grads    none: a write is not a function of the loss
/// errors   ValueError: shape; TypeError: dtype
/// source   tf.assign
Tensor assign(const Variable& variable, const Operand& value, AssignOptions options = {},
              Site site = Site::current());

/// Adds `value` to the variable. (tf.assign_add)
Tensor assign_add(const Variable& variable, const Operand& value, UpdateOptions options = {},
                  Site site = Site::current());
/// Subtracts `value` from the variable. (tf.assign_sub)
Tensor assign_sub(const Variable& variable, const Operand& value, UpdateOptions options = {},
                  Site site = Site::current());

/// As `assign`, on the storage itself; `make_variable` uses it before the handle exists.
Tensor assign_ref(const Tensor& ref, const Operand& value, const AssignOptions& options, Site site);

/// Subtracts `updates` from rows `indices` of the variable; repeated rows add up. (tf.scatter_sub)
///
/// shapes   indices [n...], updates [n..., d1, ...] of a variable [d0, d1, ...]
/// errors   InvalidArgumentError: an index out of range
Tensor scatter_sub(const Variable& variable, const Operand& indices, const Operand& updates,
                   UpdateOptions options = {}, Site site = Site::current());
Tensor scatter_add(const Variable& variable, const Operand& indices, const Operand& updates,
                   UpdateOptions options = {}, Site site = Site::current());

}  // namespace towerflow
