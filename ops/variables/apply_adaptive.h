#pragma once

#include <span>

#include "ops/variables/apply.h"

namespace towerflow {

/// Adds an optimizer's update op, which writes the variable and its slots. The scalars are those of
/// the op in TensorFlow's order (ops/update_rules.h), of the variable's dtype.
///
/// op       ApplyAdam, ApplyAdagrad, ApplyRMSProp, ApplyCenteredRMSProp
/// shapes   slots and gradient as the variable, scalars []
/// grads    none: an update is not a function of the loss
/// errors   ValueError: a shape that does not match
/// source   tf.raw_ops
Operation apply_adaptive(const char* op, const Variable& variable, std::span<const Variable> slots,
                         std::span<const Tensor> scalars, const Tensor& gradient, ApplyAttrs attrs,
                         Site site);

/// The same for only the rows `indices` [n], gradient [n, d1, ...]. The gradients of repeated rows
/// are summed and applied once. op: SparseApplyAdagrad, SparseApplyRMSProp,
/// SparseApplyCenteredRMSProp; and SparseApplyAdam, which TensorFlow composes of a dozen ops: the
/// slots of all rows decay and all rows move.
Operation sparse_apply_adaptive(const char* op, const Variable& variable,
                                std::span<const Variable> slots, std::span<const Tensor> scalars,
                                const Tensor& gradient, const Tensor& indices, ApplyAttrs attrs,
                                Site site);

}  // namespace towerflow
