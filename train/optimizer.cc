#include "train/optimizer.h"

#include <fmt/format.h>

#include <algorithm>

#include "autodiff/gradients.h"
#include "core/graph/scopes.h"
#include "ops/control/group.h"
#include "ops/variables/assign.h"
#include "ops/variables/initializers.h"
#include "train/slots.h"

namespace towerflow::train {
namespace {

std::string names_of(const std::vector<GradAndVar>& pairs) {
  std::vector<std::string> names;
  for (const GradAndVar& pair : pairs) names.push_back("'" + pair.var.name() + "'");
  return fmt::format("[{}]", fmt::join(names, ", "));
}

bool none_present(const std::vector<GradAndVar>& pairs) {
  return std::none_of(pairs.begin(), pairs.end(), [](const auto& pair) { return pair.grad; });
}

/// What the variable's constraint makes of its value after `update`, written back.
Operation constrained(const Variable& variable, const Operation& update, Site site) {
  const ControlDependencies after(variable.graph(), std::vector<Node*>{&update.node()});
  return assign(variable, variable.constraint()(variable), {}, site).op();
}

}  // namespace

std::vector<GradAndVar> Optimizer::compute_gradients(const Tensor& loss,
                                                     ComputeGradientsOptions options, Site site) {
  if (options.gate_gradients < GATE_NONE || options.gate_gradients > GATE_GRAPH) {
    throw ValueError(
        "gate_gradients must be one of: Optimizer.GATE_NONE, Optimizer.GATE_OP, "
        "Optimizer.GATE_GRAPH. Not " +
            std::to_string(options.gate_gradients),
        {.site = site});
  }
  if (!is_floating(loss.dtype())) {
    throw ValueError(fmt::format("Invalid type {} for {}, expected: float32, float64, float16, "
                                 "bfloat16.",
                                 dtype_name(loss.dtype()), loss.name()),
                     {.site = site, .hint = "tf::cast the loss to float32"});
  }
  std::vector<Variable> variables;
  if (options.var_list) {
    variables = *options.var_list;
  } else {
    const Collections& collections = loss.graph().collections();
    for (const char* key :
         {GraphKeys::TRAINABLE_VARIABLES, GraphKeys::TRAINABLE_RESOURCE_VARIABLES}) {
      const auto found = collections.get<Variable>(key, std::nullopt);
      variables.insert(variables.end(), found.begin(), found.end());
    }
  }
  if (variables.empty()) {
    throw ValueError("No variables to optimize.",
                     {.site = site,
                      .hint = options.var_list ? "var_list is empty: a filter may have matched "
                                                 "nothing; a name scope never prefixes get_variable"
                                               : "make variables with tf::get_variable first"});
  }
  std::vector<GradientTarget> targets(variables.begin(), variables.end());
  const auto grads =
      gradients({loss}, targets,
                {.grad_ys = options.grad_loss ? std::vector<OptionalGradient>{options.grad_loss}
                                              : std::vector<OptionalGradient>{},
                 .colocate_gradients_with_ops = options.colocate_gradients_with_ops},
                site);
  std::vector<GradAndVar> pairs;
  for (std::size_t i = 0; i < variables.size(); ++i) pairs.push_back({grads[i], variables[i]});
  return pairs;
}

Operation Optimizer::apply_gradients(const std::vector<GradAndVar>& grads_and_vars,
                                     ApplyGradientsOptions options, Site site) {
  if (grads_and_vars.empty()) throw ValueError("No variables provided.", {.site = site});
  if (none_present(grads_and_vars)) {
    throw ValueError(
        fmt::format("No gradients provided for any variable: {}.", names_of(grads_and_vars)),
        {.site = site, .hint = "the loss depends on none of them: every gradient is absent"});
  }
  Graph& graph = grads_and_vars[0].var.graph();
  std::vector<Variable> with_gradient;
  for (const GradAndVar& pair : grads_and_vars) {
    if (pair.grad) with_gradient.push_back(pair.var);
  }
  {
    const ControlDependencies outside(graph, std::nullopt);
    create_slots(with_gradient, site);
  }
  const NameScope scope(graph, options.name.empty() ? name_ : options.name, site);
  prepare(graph, site);
  std::vector<Operation> updates;
  for (const auto& [gradient, variable] : grads_and_vars) {
    if (!gradient) continue;
    if (variable.constraint() && !gradient->is_dense()) {
      throw RuntimeError("Cannot use a constraint function on a sparse variable.",
                         {.site = site,
                          .node = variable.op().name(),
                          .hint = "its gradient is IndexedSlices: convert_to_tensor makes it dense"});
    }
    const NameScope update_scope(graph, "update_" + variable.op().name(), site);
    const ColocationScope beside(graph, &variable.op().node(), false);
    const Operation update = gradient->is_dense()
                                 ? apply_dense(gradient->dense(), variable, site)
                                 : apply_sparse(gradient->slices(), variable, site);
    updates.push_back(variable.constraint() ? constrained(variable, update, site) : update);
  }
  Operation train_op;
  if (!options.global_step) {
    train_op = finish(updates, scope.name(), site);
  } else {
    const Operation done = finish(updates, "update", site);
    const ControlDependencies after(graph, std::vector<Node*>{&done.node()});
    const ColocationScope beside(graph, &options.global_step->op().node(), false);
    train_op = assign_add(*options.global_step, 1, {.name = scope.name()}, site).op();
  }
  graph.collections().add(GraphKeys::TRAIN_OP, CollectionItem::of(train_op));
  return train_op;
}

Operation Optimizer::minimize(const Tensor& loss, MinimizeOptions options, Site site) {
  const auto pairs =
      compute_gradients(loss,
                        {.var_list = options.var_list,
                         .gate_gradients = options.gate_gradients,
                         .colocate_gradients_with_ops = options.colocate_gradients_with_ops,
                         .grad_loss = options.grad_loss},
                        site);
  if (none_present(pairs)) {
    throw ValueError(fmt::format("No gradients provided for any variable, check your graph for ops "
                                 "that do not support gradients, between variables {} and loss {}.",
                                 names_of(pairs), loss.name()),
                     {.site = site});
  }
  return apply_gradients(pairs, {.global_step = options.global_step, .name = options.name}, site);
}

std::optional<Variable> Optimizer::get_slot(const Variable& variable,
                                            const std::string& name) const {
  const auto slot = slots_.find(name);
  if (slot == slots_.end()) return std::nullopt;
  const auto found = slot->second.find(variable.name());
  return found == slot->second.end() ? std::nullopt : std::optional(found->second);
}

std::vector<std::string> Optimizer::get_slot_names() const {
  std::vector<std::string> names;
  for (const auto& [name, variables] : slots_) names.push_back(name);
  return names;
}

std::vector<Variable> Optimizer::variables() const {
  std::vector<Variable> kept;
  for (const auto& [name, slots] : slots_) {
    for (const auto& [variable, slot] : slots) kept.push_back(slot);
  }
  for (const auto& [name, variable] : non_slots_) kept.push_back(variable);
  std::sort(kept.begin(), kept.end(),
            [](const Variable& a, const Variable& b) { return a.name() < b.name(); });
  return kept;
}

Operation Optimizer::finish(const std::vector<Operation>& updates, const std::string& name,
                            Site site) {
  return group(updates, {.name = name}, site);
}

Variable Optimizer::slot(const Variable& variable, const std::string& slot_name,
                         Initializer initializer, Site site) {
  auto& slots = slots_[slot_name];
  const auto existing = slots.find(variable.name());
  if (existing != slots.end()) return existing->second;
  const SlotReuse reuse = strict_slots_ ? SlotReuse::strict : SlotReuse::find_or_make;
  const Variable made = create_slot(variable.op(), name_, initializer, variable.shape(),
                                    variable.dtype(), true, reuse, site);
  slots.emplace(variable.name(), made);
  return made;
}

Variable Optimizer::zeros_slot(const Variable& variable, const std::string& slot_name, Site site) {
  return slot(variable, slot_name, zeros_initializer(), site);
}

Variable Optimizer::non_slot_variable(const std::string& name, const Operand& initial_value,
                                      const Variable& beside, Site site) {
  const auto existing = non_slots_.find(name);
  if (existing != non_slots_.end()) return existing->second;
  const ColocationScope colocated(beside.graph(), &beside.op().node(), false);
  const Variable made(initial_value, {.trainable = false, .name = name}, site);
  non_slots_.emplace(name, made);
  return made;
}

}  // namespace towerflow::train
