#include "train/adaptive_optimizers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/graph/scopes.h"
#include "ops/control/group.h"
#include "ops/math/binary.h"
#include "ops/variables/apply_adaptive.h"
#include "ops/variables/assign.h"
#include "ops/variables/initializers.h"

namespace towerflow::train {
namespace {

/// Returns a * b, with the node name that the operator would give.
Tensor times(const Variable& a, const Tensor& b, Site site) {
  return multiply(a, b, {.name = "mul"}, site);
}

}  // namespace

AdamOptimizer::AdamOptimizer(ScalarOperand learning_rate, AdamOptions options)
    : Optimizer(options.name, options.use_locking),
      learning_rate_(std::move(learning_rate)),
      options_(std::move(options)) {}

void AdamOptimizer::create_slots(const std::vector<Variable>& variables, Site site) {
  // The powers are colocated with the variable whose name sorts first, whatever its position.
  const Variable& first =
      *std::min_element(variables.begin(), variables.end(),
                        [](const Variable& a, const Variable& b) { return a.name() < b.name(); });
  beta1_power_ = non_slot_variable("beta1_power", options_.beta1, first, site);
  beta2_power_ = non_slot_variable("beta2_power", options_.beta2, first, site);
  for (const Variable& variable : variables) {
    zeros_slot(variable, "m", site);
    zeros_slot(variable, "v", site);
  }
}

void AdamOptimizer::prepare(Graph& graph, Site) {
  rate_ = convert_operand(graph, learning_rate_, "learning_rate", std::nullopt);
  beta1_ = convert_operand(graph, options_.beta1, "beta1", std::nullopt);
  beta2_ = convert_operand(graph, options_.beta2, "beta2", std::nullopt);
  epsilon_ = convert_operand(graph, options_.epsilon, "epsilon", std::nullopt);
}

std::vector<Variable> AdamOptimizer::slots_of(const Variable& variable) const {
  return {*get_slot(variable, "m"), *get_slot(variable, "v")};
}

std::vector<Tensor> AdamOptimizer::scalars(DType dtype, Site site) const {
  return cast_all({beta1_power_, beta2_power_, rate_, beta1_, beta2_, epsilon_}, dtype, site);
}

Operation AdamOptimizer::apply_dense(const Tensor& gradient, const Variable& variable, Site site) {
  return apply_adaptive("ApplyAdam", variable, slots_of(variable), scalars(variable.dtype(), site),
                        gradient, {.use_locking = use_locking()}, site);
}

Operation AdamOptimizer::apply_sparse(const IndexedSlices& gradient, const Variable& variable,
                                      Site site) {
  return sparse_apply_adaptive("SparseApplyAdam", variable, slots_of(variable),
                               scalars(variable.dtype(), site), gradient.values, gradient.indices,
                               {.use_locking = use_locking()}, site);
}

Operation AdamOptimizer::finish(const std::vector<Operation>& updates, const std::string& name,
                                Site site) {
  std::vector<Operation> all = updates;
  {
    const ControlDependencies after = control_dependencies(updates);
    const ColocationScope beside(beta1_power_.graph(), &beta1_power_.op().node(), false);
    const AssignOptions locking{.use_locking = use_locking()};
    all.push_back(assign(beta1_power_, times(beta1_power_, beta1_, site), locking, site).op());
    all.push_back(assign(beta2_power_, times(beta2_power_, beta2_, site), locking, site).op());
  }
  return group(all, {.name = name}, site);
}

RMSPropOptimizer::RMSPropOptimizer(ScalarOperand learning_rate, RMSPropOptions options)
    : Optimizer(options.name, options.use_locking),
      learning_rate_(std::move(learning_rate)),
      options_(std::move(options)) {}

void RMSPropOptimizer::create_slots(const std::vector<Variable>& variables, Site site) {
  for (const Variable& variable : variables) {
    slot(variable, "rms", ones_initializer(), site);
    if (options_.centered) zeros_slot(variable, "mg", site);
    zeros_slot(variable, "momentum", site);
  }
}

void RMSPropOptimizer::prepare(Graph& graph, Site) {
  rate_ = convert_operand(graph, learning_rate_, "learning_rate", std::nullopt);
  decay_ = convert_operand(graph, options_.decay, "decay", std::nullopt);
  momentum_ = convert_operand(graph, options_.momentum, "momentum", std::nullopt);
  epsilon_ = convert_operand(graph, options_.epsilon, "epsilon", std::nullopt);
}

std::vector<Variable> RMSPropOptimizer::slots_of(const Variable& variable) const {
  std::vector<Variable> slots;
  if (options_.centered) slots.push_back(*get_slot(variable, "mg"));
  slots.push_back(*get_slot(variable, "rms"));
  slots.push_back(*get_slot(variable, "momentum"));
  return slots;
}

std::vector<Tensor> RMSPropOptimizer::scalars(DType dtype, Site site) const {
  return cast_all({rate_, decay_, momentum_, epsilon_}, dtype, site);
}

Operation RMSPropOptimizer::apply_dense(const Tensor& gradient, const Variable& variable,
                                        Site site) {
  return apply_adaptive(options_.centered ? "ApplyCenteredRMSProp" : "ApplyRMSProp", variable,
                        slots_of(variable), scalars(variable.dtype(), site), gradient,
                        {.use_locking = use_locking()}, site);
}

Operation RMSPropOptimizer::apply_sparse(const IndexedSlices& gradient, const Variable& variable,
                                         Site site) {
  return sparse_apply_adaptive(
      options_.centered ? "SparseApplyCenteredRMSProp" : "SparseApplyRMSProp", variable,
      slots_of(variable), scalars(variable.dtype(), site), gradient.values, gradient.indices,
      {.use_locking = use_locking()}, site);
}

AdagradOptimizer::AdagradOptimizer(ScalarOperand learning_rate, AdagradOptions options, Site site)
    : Optimizer(options.name, options.use_locking),
      learning_rate_(std::move(learning_rate)),
      options_(std::move(options)) {
  if (!(options_.initial_accumulator_value > 0)) {
    throw ValueError(fmt::format("initial_accumulator_value must be positive: {}",
                                 options_.initial_accumulator_value),
                     {.site = site});
  }
}

void AdagradOptimizer::create_slots(const std::vector<Variable>& variables, Site site) {
  for (const Variable& variable : variables) {
    slot(variable, "accumulator", constant_initializer(options_.initial_accumulator_value), site);
  }
}

void AdagradOptimizer::prepare(Graph& graph, Site) {
  rate_ = convert_operand(graph, learning_rate_, "learning_rate", std::nullopt);
}

Operation AdagradOptimizer::apply_dense(const Tensor& gradient, const Variable& variable,
                                        Site site) {
  const std::array slots{*get_slot(variable, "accumulator")};
  return apply_adaptive("ApplyAdagrad", variable, slots, cast_all({rate_}, variable.dtype(), site),
                        gradient, {.use_locking = use_locking()}, site);
}

Operation AdagradOptimizer::apply_sparse(const IndexedSlices& gradient, const Variable& variable,
                                         Site site) {
  const std::array slots{*get_slot(variable, "accumulator")};
  return sparse_apply_adaptive("SparseApplyAdagrad", variable, slots,
                               cast_all({rate_}, variable.dtype(), site), gradient.values,
                               gradient.indices, {.use_locking = use_locking()}, site);
}

AdadeltaOptimizer::AdadeltaOptimizer(ScalarOperand learning_rate, AdadeltaOptions options)
    : Optimizer(options.name, options.use_locking),
      learning_rate_(std::move(learning_rate)),
      options_(std::move(options)) {}

void AdadeltaOptimizer::create_slots(const std::vector<Variable>& variables, Site site) {
  for (const Variable& variable : variables) {
    zeros_slot(variable, "accum", site);
    zeros_slot(variable, "accum_update", site);
  }
}

void AdadeltaOptimizer::prepare(Graph& graph, Site) {
  rate_ = convert_operand(graph, learning_rate_, "lr", std::nullopt);
  rho_ = convert_operand(graph, options_.rho, "rho", std::nullopt);
  epsilon_ = convert_operand(graph, options_.epsilon, "epsilon", std::nullopt);
}

Operation AdadeltaOptimizer::apply_dense(const Tensor& gradient, const Variable& variable,
                                         Site site) {
  const std::array slots{*get_slot(variable, "accum"), *get_slot(variable, "accum_update")};
  return apply_adaptive("ApplyAdadelta", variable, slots,
                        cast_all({rate_, rho_, epsilon_}, variable.dtype(), site), gradient,
                        {.use_locking = use_locking()}, site);
}

Operation AdadeltaOptimizer::apply_sparse(const IndexedSlices& gradient, const Variable& variable,
                                          Site site) {
  const std::array slots{*get_slot(variable, "accum"), *get_slot(variable, "accum_update")};
  return sparse_apply_adaptive("SparseApplyAdadelta", variable, slots,
                               cast_all({rate_, rho_, epsilon_}, variable.dtype(), site),
                               gradient.values, gradient.indices, {.use_locking = use_locking()},
                               site);
}

}  // namespace towerflow::train
