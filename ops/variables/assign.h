#pragma once

#include "ops/variables/scatter.h"
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

}  // namespace towerflow
