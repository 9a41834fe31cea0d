#include "train/moving_average.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/graph/op_def.h"
#include "core/graph/scopes.h"
#include "ops/array/cast.h"
#include "ops/array/fill.h"
#include "ops/array/shape_of.h"
#include "ops/control/group.h"
#include "ops/math/binary.h"
#include "ops/variables/assign.h"
#include "ops/variables/initializers.h"
#include "train/slots.h"

namespace towerflow::train {
namespace {

/// Returns a tensor's name without the output number: "w" for "w:0".
std::string without_output_number(const std::string& name) {
  return name.substr(0, name.rfind(':'));
}

/// Returns 1 - decay, as a number if `decay` is one.
Operand one_minus_decay(const Operand& decay, Site site) {
  if (const Nested* nested = decay.nested()) {
    if (const auto* number = std::get_if<double>(&nested->value()))
      return Operand(1.0 - *number, site);
    if (const auto* number = std::get_if<std::int64_t>(&nested->value())) {
      return Operand(1.0 - static_cast<double>(*number), site);
    }
  }
  return Operand(Operand(1.0, site) - decay, site);
}

/// Returns `name`, made unique among the global variables of the open scope unless that has reuse.
std::string free_name(const std::string& name) {
  const VariableScopeHandle scope = get_variable_scope();
  if (scope->reuse() == Reuse(true) || scope->reuse() == Reuse(AUTO_REUSE)) return name;
  std::set<std::string> taken;
  for (const Variable& variable : global_variables()) taken.insert(variable.op().name());
  const std::string full = scope.name() + "/" + name;
  if (!taken.contains(full)) return name;
  int index = 1;
  while (taken.contains(fmt::format("{}_{}", full, index))) ++index;
  return fmt::format("{}_{}", name, index);
}

/// Creates a variable for the bookkeeping of zero_debias, colocated with `average`.
Variable debias_variable(const Variable& average, const std::string& name, const Shape& shape,
                         Site site) {
  const ColocationScope beside(average.graph(), &average.op().node(), false);
  return get_variable(
      free_name(name), shape,
      {.dtype = average.dtype(), .initializer = zeros_initializer(), .trainable = false}, site);
}

/// Updates `average` with the correction of Kingma and Ba 2015, section 3: after t updates from
/// zero, the average of a constant c with decay b is c (1 - b^t), so it is divided by that factor.
/// `decay_complement` is 1 - b.
Tensor assign_debiased(const Variable& average, const Operand& value,
                       const Tensor& decay_complement, SlotReuse reuse,
                       const std::string& scope_name, Site site) {
  Variable biased, local_step;
  {
    const auto scope = variable_scope(without_output_number(average.name()), {}, site);
    if (reuse == SlotReuse::find_or_create) scope->allow_new_variables();
    biased = debias_variable(average, "biased", average.shape(), site);
    local_step = debias_variable(average, "local_step", Shape{}, site);
  }
  const Tensor distance = Operand(biased, site) - value;
  const Tensor step = Operand(distance, site) * decay_complement;
  const Tensor new_biased = assign_sub(biased, step, {}, site);
  const Tensor steps = assign_add(local_step, Operand(1, site), {}, site);
  const Tensor decay = Operand(1.0, site) - decay_complement;
  const Tensor left = pow(decay, steps, {}, site);
  const Tensor factor = Operand(1, site) - left;
  const Tensor corrected = Operand(new_biased, site) / factor;
  return assign(average, corrected, {.name = scope_name}, site);
}

Tensor assign_average(const Variable& variable, const Operand& value, const Operand& decay,
                      const AssignMovingAverageOptions& options, SlotReuse reuse, Site site) {
  Graph& graph = variable.graph();
  const NameScope scope(graph, options.name.empty() ? "AssignMovingAvg" : options.name, site);
  const Tensor given = convert_operand(graph, one_minus_decay(decay, site), "decay", std::nullopt);
  const Tensor decay_complement = cast(given, variable.dtype(), {}, site);
  if (options.zero_debias) {
    return assign_debiased(variable, value, decay_complement, reuse, scope.name(), site);
  }
  const Tensor distance = Operand(variable, site) - value;
  const Tensor step = Operand(distance, site) * decay_complement;
  return assign_sub(variable, step, {.name = scope.name()}, site);
}

}  // namespace

Averaged::Averaged(Variable variable) : variable_(std::move(variable)) {}
Averaged::Averaged(Tensor tensor) : tensor_(tensor) {}
Tensor Averaged::value() const { return variable_ ? variable_->value() : tensor_; }
Tensor Averaged::source() const { return variable_ ? variable_->ref() : tensor_; }

AveragedList::AveragedList(std::nullopt_t) {}
AveragedList::AveragedList(std::initializer_list<Averaged> items) : items_(items) {}
AveragedList::AveragedList(std::vector<Averaged> items) : items_(std::move(items)) {}
AveragedList::AveragedList(const std::vector<Variable>& variables)
    : items_(std::vector<Averaged>(variables.begin(), variables.end())) {}
AveragedList::AveragedList(const std::vector<Tensor>& tensors)
    : items_(std::vector<Averaged>(tensors.begin(), tensors.end())) {}

ExponentialMovingAverage::ExponentialMovingAverage(ScalarOperand decay,
                                                   std::optional<Operand> num_updates,
                                                   ExponentialMovingAverageOptions options)
    : decay_(std::move(decay)),
      num_updates_(std::move(num_updates)),
      options_(std::move(options)) {}

Variable ExponentialMovingAverage::make_shadow(const Averaged& var, Site site) {
  const SlotReuse reuse = strict_slots_ ? SlotReuse::strict : SlotReuse::find_or_create;
  Graph& graph = var.op().graph();
  const InitScope outside(graph);
  if (var.variable()) {
    Tensor initial;
    {
      std::optional<DeviceScope> on;
      const std::string& where = var.variable()->device();
      if (!where.empty()) on.emplace(graph, DeviceSpec::parse(where, site));
      initial = var.variable()->initialized_value(site);
    }
    const Variable shadow = create_slot(var.op(), name(), Operand(initial, site), initial.shape(),
                                        initial.dtype(), true, reuse, site);
    graph.collections().add(GraphKeys::MOVING_AVERAGE_VARIABLES,
                            CollectionItem::of(*var.variable()));
    return shadow;
  }
  const bool beside = var.op().node().op->effect == Effect::variable;
  Initializer initial = zeros_initializer();
  if (!var.shape().fully_known()) {
    const Tensor sizes = towerflow::shape(var.value(), {}, site);
    initial = Operand(zeros(sizes, {.dtype = var.dtype()}, site), site);
  }
  return create_slot(var.op(), name(), initial, var.shape(), var.dtype(), beside, reuse, site);
}

Operation ExponentialMovingAverage::apply(const AveragedList& var_list, Site site) {
  std::vector<Averaged> averaged;
  if (var_list.items()) {
    averaged = *var_list.items();
  } else {
    for (const Variable& variable : trainable_variables()) averaged.emplace_back(variable);
  }
  std::set<Key> debiased;  // only averages created in this call, as in TensorFlow
  for (const Averaged& var : averaged) {
    if (!is_floating(var.dtype())) {
      throw TypeError(fmt::format("The variables must be half, float, or double: {}", var.name()),
                      {.site = site,
                       .node = var.op().name(),
                       .hint = "tf::cast makes a floating tensor of it"});
    }
    if (averages_.contains(key_of(var))) continue;
    averages_.emplace(key_of(var), make_shadow(var, site));
    if (!var.variable() && options_.zero_debias) debiased.insert(key_of(var));
  }
  Graph& graph = averaged.empty() ? get_default_graph() : averaged[0].op().graph();
  const NameScope scope(graph, name(), site);
  Tensor decay = convert_operand(graph, decay_, "decay", DType::float32);
  if (num_updates_) {
    const Tensor steps = cast(*num_updates_, DType::float32, {.name = "num_updates"}, site);
    const Tensor above = Operand(1.0, site) + steps;
    const Tensor below = Operand(10.0, site) + steps;
    const Tensor early = Operand(above, site) / below;
    decay = minimum(decay, early, {}, site);
  }
  std::vector<Operation> updates;
  for (const Averaged& var : averaged) {
    const AssignMovingAverageOptions options{.zero_debias = debiased.contains(key_of(var))};
    const SlotReuse reuse = strict_slots_ ? SlotReuse::strict : SlotReuse::find_or_create;
    updates.push_back(assign_average(averages_.at(key_of(var)), Operand(var.value(), site), decay,
                                     options, reuse, site)
                          .op());
  }
  return group(updates, {.name = scope.name()}, site);
}

ExponentialMovingAverage::Key ExponentialMovingAverage::key_of(const Averaged& var) {
  const Operation op = var.op();
  return {op.graph().uid(), var.variable() ? op.name() : var.name()};
}

std::optional<Variable> ExponentialMovingAverage::average(const Averaged& var) const {
  const auto found = averages_.find(key_of(var));
  return found == averages_.end() ? std::nullopt : std::optional(found->second);
}

std::string ExponentialMovingAverage::average_name(const Averaged& var) const {
  const auto shadow = average(var);
  if (shadow) return without_output_number(shadow->name());
  return get_default_graph().unique_name(without_output_number(var.name()) + "/" + name(), false);
}

std::map<std::string, Variable> ExponentialMovingAverage::variables_to_restore(
    const std::optional<std::vector<Variable>>& moving_avg_variables) const {
  std::vector<Variable> averaged = trainable_variables();
  if (moving_avg_variables) {
    averaged = *moving_avg_variables;
  } else {
    const std::vector<Variable> more = moving_average_variables();
    averaged.insert(averaged.end(), more.begin(), more.end());
  }
  std::map<std::string, Variable> by_name;
  std::set<std::string> names;
  for (const Variable& variable : averaged) {
    if (!names.insert(variable.name()).second) continue;
    by_name.insert_or_assign(average_name(variable), variable);
  }
  for (const Variable& variable : global_variables()) {
    if (!names.contains(variable.name())) by_name.try_emplace(variable.op().name(), variable);
  }
  return by_name;
}

Tensor assign_moving_average(const Variable& variable, const Operand& value, const Operand& decay,
                             AssignMovingAverageOptions options, Site site) {
  return assign_average(variable, value, decay, options, SlotReuse::strict, site);
}

}  // namespace towerflow::train
