#pragma once

#include "ops/variables/apply_attrs.h"
#include "ops/variables/variable.h"

namespace towerflow {

/// The ops that optimizers create; users call the optimizers. They follow tf.raw_ops in inputs,
/// attributes and arithmetic. None has a gradient; each writes its variable and slots.

/// variable -= alpha * delta.  shapes  alpha [], delta as the variable
Operation apply_gradient_descent(const Variable& variable, const Operand& alpha,
                                 const Operand& delta, const std::string& name, ApplyAttrs attrs,
                                 Site site);

/// Momentum, with the slot `accum`.  shapes  rate [], momentum [], gradient as the variable
Operation apply_momentum(const Variable& variable, const Variable& accum, const Operand& rate,
                         const Operand& gradient, const Operand& momentum, const std::string& name,
                         ApplyAttrs attrs, Site site);

/// Momentum on only the rows `indices` [n], gradient [n, d1, ...]. The gradients of repeated rows
/// are summed and applied once.
Operation sparse_apply_momentum(const Variable& variable, const Variable& accum,
                                const Operand& rate, const Operand& gradient,
                                const Operand& indices, const Operand& momentum,
                                const std::string& name, ApplyAttrs attrs, Site site);

}  // namespace towerflow
