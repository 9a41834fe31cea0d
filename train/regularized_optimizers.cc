#include "train/regularized_optimizers.h"

#include <fmt/format.h>

#include <array>

#include "core/graph/scopes.h"
#include "ops/array/cast.h"
#include "ops/array/constant.h"
#include "ops/array/fill.h"
#include "ops/array/view.h"
#include "ops/math/binary.h"
#include "ops/variables/apply_adaptive.h"

namespace towerflow::train {
namespace {

/// Returns a constant of the variable's shape and dtype that lies beside it.
Tensor constant_beside(const Variable& variable, double value, Site site) {
  const ColocationScope beside(variable.graph(), &variable.op().node(), false);
  return constant(value, {.dtype = variable.dtype(), .shape = variable.shape()}, site);
}

void require_positive(const char* option, double value, Site site) {
  if (value > 0) return;
  throw ValueError(fmt::format("{} must be positive: {}", option, value), {.site = site});
}

void require_not_negative(const char* option, double value, Site site) {
  if (!(value < 0)) return;
  throw ValueError(fmt::format("{} {} needs to be positive or zero", option, value),
                   {.site = site});
}

}  // namespace

AdagradDAOptimizer::AdagradDAOptimizer(ScalarOperand learning_rate, ScalarOperand global_step,
                                       AdagradDAOptions options, Site site)
    : Optimizer(options.name, options.use_locking),
      learning_rate_(std::move(learning_rate)),
      global_step_(std::move(global_step)),
      options_(std::move(options)) {
  require_positive("initial_gradient_squared_accumulator_value",
                   options_.initial_gradient_squared_accumulator_value, site);
}

void AdagradDAOptimizer::create_slots(const std::vector<Variable>& variables, Site site) {
  for (const Variable& variable : variables) {
    const Tensor sum = constant_beside(variable, 0.0, site);
    const Tensor squares =
        constant_beside(variable, options_.initial_gradient_squared_accumulator_value, site);
    slot(variable, "gradient_accumulator", sum, site);
    slot(variable, "gradient_squared_accumulator", squares, site);
  }
}

void AdagradDAOptimizer::prepare(Graph& graph, Site site) {
  rate_ = convert_operand(graph, learning_rate_, "learning_rate", std::nullopt);
  // The update of this step counts as made.
  const ColocationScope beside(graph, &rate_.op().node(), false);
  const Tensor before = identity(global_step_, {}, site);
  step_ = Operand(before, site) + 1;
}

std::vector<Variable> AdagradDAOptimizer::slots_of(const Variable& variable) const {
  return {*get_slot(variable, "gradient_accumulator"),
          *get_slot(variable, "gradient_squared_accumulator")};
}

std::vector<Tensor> AdagradDAOptimizer::scalars(const Variable& variable, Site site) const {
  const DType dtype = variable.dtype();
  const Tensor step = identity(step_, {}, site);
  const Tensor rate = cast(rate_, dtype, {}, site);
  const Tensor l1 = cast(options_.l1_regularization_strength, dtype, {}, site);
  const Tensor l2 = cast(options_.l2_regularization_strength, dtype, {}, site);
  return {rate, l1, l2, step};
}

Operation AdagradDAOptimizer::apply_dense(const Tensor& gradient, const Variable& variable,
                                          Site site) {
  return apply_adaptive("ApplyAdagradDA", variable, slots_of(variable),
                        {{}, scalars(variable, site)}, gradient, {.use_locking = use_locking()},
                        site);
}

Operation AdagradDAOptimizer::apply_sparse(const IndexedSlices& gradient, const Variable& variable,
                                           Site site) {
  return sparse_apply_adaptive("SparseApplyAdagradDA", variable, slots_of(variable),
                               {{}, scalars(variable, site)}, gradient.values, gradient.indices,
                               {.use_locking = use_locking()}, site);
}

FtrlOptimizer::FtrlOptimizer(ScalarOperand learning_rate, FtrlOptions options, Site site)
    : Optimizer(options.name, options.use_locking),
      learning_rate_(std::move(learning_rate)),
      options_(std::move(options)) {
  require_not_negative("initial_accumulator_value", options_.initial_accumulator_value, site);
  if (options_.learning_rate_power > 0) {
    throw ValueError(fmt::format("learning_rate_power {} needs to be negative or zero",
                                 options_.learning_rate_power),
                     {.site = site});
  }
  require_not_negative("l1_regularization_strength", options_.l1_regularization_strength, site);
  require_not_negative("l2_regularization_strength", options_.l2_regularization_strength, site);
  require_not_negative("l2_shrinkage_regularization_strength",
                       options_.l2_shrinkage_regularization_strength, site);
}

void FtrlOptimizer::create_slots(const std::vector<Variable>& variables, Site site) {
  const double initial = options_.initial_accumulator_value;
  const auto accumulator = [initial](const Shape& shape, DType dtype, Site at) {
    const Tensor all_ones = ones(shape, {.dtype = dtype}, at);
    return Operand(all_ones, at) * initial;
  };
  for (const Variable& variable : variables) {
    slot(variable, "accum", Initializer(accumulator), site, options_.accum_name);
    zeros_slot(variable, "linear", site, options_.linear_name);
  }
}

void FtrlOptimizer::prepare(Graph& graph, Site site) {
  const auto converted = [&](const Operand& number, const char* name) {
    return convert_operand(graph, number, name, std::nullopt);
  };
  rate_ = converted(learning_rate_, "learning_rate");
  l1_ = converted(options_.l1_regularization_strength, "l1_regularization_strength");
  const Tensor least = maximum(learning_rate_, 1e-36, {}, site);
  const Tensor twice = Operand(2.0, site) * least;
  const Tensor quotient = Operand(options_.beta, site) / twice;
  l2_ = Operand(options_.l2_regularization_strength, site) + quotient;
  converted(options_.beta, "beta");
  shrinkage_ = converted(options_.l2_shrinkage_regularization_strength,
                         "l2_shrinkage_regularization_strength");
  power_ = converted(options_.learning_rate_power, "learning_rate_power");
}

std::vector<Variable> FtrlOptimizer::slots_of(const Variable& variable) const {
  return {*get_slot(variable, "accum"), *get_slot(variable, "linear")};
}

std::vector<Tensor> FtrlOptimizer::scalars(const Variable& variable, Site site) const {
  return shrinks() ? cast_all({rate_, l1_, l2_, shrinkage_, power_}, variable.dtype(), site)
                   : cast_all({rate_, l1_, l2_, power_}, variable.dtype(), site);
}

Operation FtrlOptimizer::apply_dense(const Tensor& gradient, const Variable& variable, Site site) {
  return apply_adaptive(shrinks() ? "ApplyFtrlV2" : "ApplyFtrl", variable, slots_of(variable),
                        {{}, scalars(variable, site)}, gradient, {.use_locking = use_locking()},
                        site);
}

Operation FtrlOptimizer::apply_sparse(const IndexedSlices& gradient, const Variable& variable,
                                      Site site) {
  return sparse_apply_adaptive(shrinks() ? "SparseApplyFtrlV2" : "SparseApplyFtrl", variable,
                               slots_of(variable), {{}, scalars(variable, site)}, gradient.values,
                               gradient.indices, {.use_locking = use_locking()}, site);
}

ProximalAdagradOptimizer::ProximalAdagradOptimizer(ScalarOperand learning_rate,
                                                   ProximalAdagradOptions options, Site site)
    : Optimizer(options.name, options.use_locking),
      learning_rate_(std::move(learning_rate)),
      options_(std::move(options)) {
  require_positive("initial_accumulator_value", options_.initial_accumulator_value, site);
}

void ProximalAdagradOptimizer::create_slots(const std::vector<Variable>& variables, Site site) {
  for (const Variable& variable : variables) {
    const Tensor initial = constant_beside(variable, options_.initial_accumulator_value, site);
    slot(variable, "accumulator", initial, site);
  }
}

void ProximalAdagradOptimizer::prepare(Graph& graph, Site) {
  const auto converted = [&](const Operand& number, const char* name) {
    return convert_operand(graph, number, name, std::nullopt);
  };
  const Tensor rate = converted(learning_rate_, "learning_rate");
  const Tensor l1 = converted(options_.l1_regularization_strength, "l1_regularization_strength");
  const Tensor l2 = converted(options_.l2_regularization_strength, "l2_regularization_strength");
  scalars_ = {rate, l1, l2};
}

Operation ProximalAdagradOptimizer::apply_dense(const Tensor& gradient, const Variable& variable,
                                                Site site) {
  const std::array slots{*get_slot(variable, "accumulator")};
  return apply_adaptive("ApplyProximalAdagrad", variable, slots, scalars_, gradient,
                        {.use_locking = use_locking()}, site);
}

Operation ProximalAdagradOptimizer::apply_sparse(const IndexedSlices& gradient,
                                                 const Variable& variable, Site site) {
  const std::array slots{*get_slot(variable, "accumulator")};
  return sparse_apply_adaptive("SparseApplyProximalAdagrad", variable, slots, scalars_,
                               gradient.values, gradient.indices, {.use_locking = use_locking()},
                               site);
}

ProximalGradientDescentOptimizer::ProximalGradientDescentOptimizer(
    ScalarOperand learning_rate, ProximalGradientDescentOptions options)
    : Optimizer(options.name, options.use_locking),
      learning_rate_(std::move(learning_rate)),
      options_(std::move(options)) {}

void ProximalGradientDescentOptimizer::prepare(Graph& graph, Site) {
  const auto converted = [&](const Operand& number, const char* name) {
    return convert_operand(graph, number, name, std::nullopt);
  };
  const Tensor rate = converted(learning_rate_, "learning_rate");
  const Tensor l1 = converted(options_.l1_regularization_strength, "l1_regularization_strength");
  const Tensor l2 = converted(options_.l2_regularization_strength, "l2_regularization_strength");
  scalars_ = {rate, l1, l2};
}

Operation ProximalGradientDescentOptimizer::apply_dense(const Tensor& gradient,
                                                        const Variable& variable, Site site) {
  return apply_adaptive("ApplyProximalGradientDescent", variable, {}, scalars_, gradient,
                        {.use_locking = use_locking()}, site);
}

Operation ProximalGradientDescentOptimizer::apply_sparse(const IndexedSlices& gradient,
                                                         const Variable& variable, Site site) {
  return sparse_apply_adaptive("SparseApplyProximalGradientDescent", variable, {}, scalars_,
                               gradient.values, gradient.indices, {.use_locking = use_locking()},
                               site);
}

}  // namespace towerflow::train
