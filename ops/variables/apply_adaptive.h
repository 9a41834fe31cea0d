#pragma once

#include <span>
#include <utility>
#include <vector>

#include "ops/variables/apply.h"

namespace towerflow {

/// The scalar inputs of an update op, in TensorFlow's order (ops/update_rules.h): those before its
/// gradient and those after it.
struct UpdateScalars {
  UpdateScalars(std::vector<Tensor> scalars, std::vector<Tensor> scalars_after = {})  // NOLINT
      : before(std::move(scalars)), after(std::move(scalars_after)) {}
  std::vector<Tensor> before, after;
};

/// Adds an optimizer's update op, which writes the variable and its slots. The scalars have the
/// variable's dtype, except for a step count, which is an int64.
///
/// op       ApplyAdam, ApplyAdagrad, ApplyRMSProp, ApplyCenteredRMSProp, ApplyAdadelta,
///          ApplyAdagradDA, ApplyFtrl, ApplyFtrlV2, ApplyProximalGradientDescent,
///          ApplyProximalAdagrad
/// shapes   slots and gradient as the variable, scalars []
/// grads    none: an update is not a function of the loss
/// errors   ValueError: a shape that does not match; TypeError: a dtype that does not
/// source   tf.raw_ops
Operation apply_adaptive(const char* op, const Variable& variable, std::span<const Variable> slots,
                         const UpdateScalars& scalars, const Tensor& gradient, ApplyAttrs attrs,
                         Site site);

/// The same for only the rows `indices` [n], gradient [n, d1, ...]. The gradients of repeated rows
/// are summed and applied once. op: the above after "Sparse"; of them, SparseApplyAdam is an op
/// that TensorFlow composes of a dozen ops: the slots of all rows decay and all rows move.
Operation sparse_apply_adaptive(const char* op, const Variable& variable,
                                std::span<const Variable> slots, const UpdateScalars& scalars,
                                const Tensor& gradient, const Tensor& indices, ApplyAttrs attrs,
                                Site site);

}  // namespace towerflow
