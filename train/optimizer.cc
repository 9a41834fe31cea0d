#include "train/optimizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "autodiff/gradients.h"
#include "autodiff/why_none.h"
#include "core/graph/log.h"
#include "core/graph/scopes.h"
#include "ops/array/cast.h"
#include "ops/control/group.h"
#include "ops/control/tuple.h"
#include "ops/variables/assign.h"
#include "ops/variables/initializers.h"
#include "train/gradient_scope.h"
#include "train/slots.h"

namespace towerflow {

std::vector<GradAndVar> zip(const std::vector<OptionalGradient>& gradients,
                            const std::vector<Variable>& variables, Site site) {
  if (gradients.size() != variables.size()) {
    throw ValueError(
        fmt::format("{} gradients for {} variables", gradients.size(), variables.size()),
        {.site = site, .op = "zip", .hint = "a gradient may be absent: std::nullopt"});
  }
  std::vector<GradAndVar> pairs;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    pairs.push_back({gradients[i], variables[i]});
  }
  return pairs;
}

}  // namespace towerflow

namespace towerflow::train {
namespace {

/// Warns about variables listed more than once: each pair counts, as in TensorFlow.
void warn_of_duplicates(const std::vector<Variable>& variables, const char* where,
                        const char* meaning) {
  std::map<std::string, int> counts;
  for (const Variable& variable : variables) ++counts[variable.name()];
  for (const auto& [name, count] : counts) {
    if (count < 2) continue;
    log_message(LogLevel::warning, fmt::format("variable '{}' occurs {} times in {}: {}", name,
                                               count, where, meaning));
  }
}

/// Explains why `var_list`, or the default collection if absent, has no variables.
std::string why_no_variables(const OptionalVariables& var_list) {
  if (!var_list) return "there are no trainable variables: make some with tf::get_variable first";
  if (var_list->key.empty()) return "var_list is empty";
  return "var_list: " + var_list->explain();
}

/// Returns the explanations of why_none for the first variables.
std::string why_no_gradients(const Tensor& loss, const std::vector<GradAndVar>& pairs,
                             const OptionalVariables& var_list, Site site) {
  constexpr std::size_t kMaxReasons = 3;
  std::string text;
  for (std::size_t i = 0; i < pairs.size() && i < kMaxReasons; ++i) {
    if (i > 0) text += "; ";
    text += why_none(loss, pairs[i].var, {.var_list = var_list}, site).text;
  }
  if (pairs.size() > kMaxReasons) text += fmt::format("; and {} more", pairs.size() - kMaxReasons);
  return text;
}

void check_floating(const Tensor& tensor, const char* hint, Site site) {
  if (is_floating(tensor.dtype())) return;
  throw ValueError(fmt::format("Invalid type {} for {}, expected: float32, float64, float16, "
                               "bfloat16.",
                               dtype_name(tensor.dtype()), tensor.name()),
                   {.site = site, .hint = hint});
}

std::string names_of(const std::vector<GradAndVar>& pairs) {
  std::vector<std::string> names;
  for (const GradAndVar& pair : pairs) names.push_back("'" + pair.var.name() + "'");
  return fmt::format("[{}]", fmt::join(names, ", "));
}

bool none_present(const std::vector<GradAndVar>& pairs) {
  return std::none_of(pairs.begin(), pairs.end(), [](const auto& pair) { return pair.grad; });
}

/// Adds the assignment that applies the variable's constraint to its value after `update`.
Operation apply_constraint(const Variable& variable, const Operation& update, Site site) {
  const ControlDependencies after(variable.graph(), std::vector<Node*>{&update.node()});
  return assign(variable, variable.constraint()(variable), {}, site).op();
}

}  // namespace

Optimizer::Optimizer(std::string name, bool use_locking)
    : name_(std::move(name)), use_locking_(use_locking) {
  if (name_.empty()) throw ValueError("Must specify the optimizer name");
}
Optimizer::~Optimizer() = default;

std::vector<GradAndVar> Optimizer::compute_gradients(const Tensor& loss,
                                                     ComputeGradientsOptions options, Site site) {
  return changed_computed_gradients(compute(loss, options, site));
}

std::vector<GradAndVar> Optimizer::compute(const Tensor& loss,
                                           const ComputeGradientsOptions& options, Site site) {
  if (options.gate_gradients < GATE_NONE || options.gate_gradients > GATE_GRAPH) {
    throw ValueError(
        "gate_gradients must be one of: Optimizer.GATE_NONE, Optimizer.GATE_OP, "
        "Optimizer.GATE_GRAPH. Not " +
            std::to_string(options.gate_gradients),
        {.site = site});
  }
  check_floating(loss, "tf::cast the loss to float32", site);
  if (options.grad_loss) {
    check_floating(options.grad_loss->representative(), "tf::cast grad_loss to the loss's dtype",
                   site);
  }
  std::vector<Variable> variables;
  if (options.var_list) {
    variables = *options.var_list;
    warn_of_duplicates(variables, "var_list", "it gets as many gradients, each of them whole");
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
                     {.site = site, .hint = why_no_variables(options.var_list)});
  }
  GradientsOptions call;
  if (options.grad_loss) call.grad_ys = {options.grad_loss};
  call.colocate_gradients_with_ops = options.colocate_gradients_with_ops;
  call.gate_gradients = options.gate_gradients == GATE_OP;
  call.aggregation_method = options.aggregation_method;
  auto grads = gradients({loss}, variables, call, site);
  if (options.gate_gradients == GATE_GRAPH) {
    const RoleScope role(loss.graph(), NodeRole::gradient);
    grads = tuple(grads, {}, site);
  }
  std::vector<GradAndVar> pairs;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    if (grads[i]) check_floating(variables[i].ref(), "only floating variables are trained", site);
    pairs.push_back({grads[i], variables[i]});
  }
  return pairs;
}

Operation Optimizer::apply_gradients(const std::vector<GradAndVar>& given,
                                     ApplyGradientsOptions options, Site site) {
  const std::vector<GradAndVar> grads_and_vars = transformed_gradients(given);
  if (grads_and_vars.empty()) throw ValueError("No variables provided.", {.site = site});
  if (none_present(grads_and_vars)) {
    throw ValueError(
        fmt::format("No gradients provided for any variable: {}.", names_of(grads_and_vars)),
        {.site = site,
         .hint = "every gradient is absent: tf::why_none(loss, variable) gives the reason"});
  }
  return apply(grads_and_vars, options, site);
}

Operation Optimizer::apply(const std::vector<GradAndVar>& grads_and_vars,
                           const ApplyGradientsOptions& options, Site site) {
  Graph& graph = grads_and_vars[0].var.graph();
  std::vector<Variable> with_gradient;
  for (const GradAndVar& pair : grads_and_vars) {
    if (pair.grad) with_gradient.push_back(pair.var);
  }
  warn_of_duplicates(with_gradient, "apply_gradients", "each of its gradients is applied");
  {
    const InitScope outside(graph);
    create_slots(with_gradient, site);
  }
  const NameScope scope(graph, options.name.empty() ? name_ : options.name, site);
  const RoleScope role(graph, NodeRole::update);
  prepare(graph, site);
  std::vector<Operation> updates;
  for (const auto& [gradient, variable] : grads_and_vars) {
    if (!gradient) continue;
    if (variable.constraint() && !gradient->is_dense()) {
      throw RuntimeError(
          "Cannot use a constraint function on a sparse variable.",
          {.site = site,
           .node = variable.op().name(),
           .hint = "its gradient is IndexedSlices: convert_to_tensor makes it dense"});
    }
    const NameScope update_scope(graph, "update_" + variable.op().name(), site);
    const ColocationScope beside(graph, &variable.op().node(), false);
    const Operation update = gradient->is_dense()
                                 ? apply_dense(gradient->dense(), variable, site)
                                 : apply_sparse(gradient->slices(), variable, site);
    updates.push_back(variable.constraint() ? apply_constraint(variable, update, site) : update);
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
                         .aggregation_method = options.aggregation_method,
                         .colocate_gradients_with_ops = options.colocate_gradients_with_ops,
                         .grad_loss = options.grad_loss},
                        site);
  if (none_present(pairs)) {
    throw ValueError(fmt::format("No gradients provided for any variable, check your graph for ops "
                                 "that do not support gradients, between variables {} and loss {}.",
                                 names_of(pairs), loss.name()),
                     {.site = site, .hint = why_no_gradients(loss, pairs, options.var_list, site)});
  }
  return apply_gradients(pairs, {.global_step = options.global_step, .name = options.name}, site);
}

std::optional<Variable> Optimizer::get_slot(const Variable& variable,
                                            const std::string& name) const {
  const auto slot = slots_.find(name);
  if (slot == slots_.end()) return std::nullopt;
  const auto found = slot->second.find({variable.graph().uid(), variable.name()});
  return found == slot->second.end() ? std::nullopt : std::optional(found->second);
}

std::vector<std::string> Optimizer::get_slot_names() const {
  std::vector<std::string> names;
  for (const auto& [name, variables] : slots_) names.push_back(name);
  return names;
}

std::vector<Variable> Optimizer::variables() const {
  const std::uint64_t here = get_default_graph().uid();
  std::vector<Variable> kept;
  // Other graphs may have been destroyed, which leaves their variables dangling.
  const auto keep = [&](const std::map<Key, Variable>& made) {
    for (const auto& [key, variable] : made) {
      if (key.first == here) kept.push_back(variable);
    }
  };
  for (const auto& [name, slots] : slots_) keep(slots);
  keep(non_slots_);
  std::sort(kept.begin(), kept.end(),
            [](const Variable& a, const Variable& b) { return a.name() < b.name(); });
  return kept;
}

Operation Optimizer::finish(const std::vector<Operation>& updates, const std::string& name,
                            Site site) {
  return group(updates, {.name = name}, site);
}

Variable Optimizer::slot(const Variable& variable, const std::string& slot_name,
                         Initializer initializer, Site site, const std::string& op_name) {
  auto& slots = slots_[slot_name];
  const Key key{variable.graph().uid(), variable.name()};
  const auto existing = slots.find(key);
  if (existing != slots.end()) return existing->second;
  const SlotReuse reuse = strict_slots_ ? SlotReuse::strict : SlotReuse::find_or_create;
  const Variable made = create_slot(variable.op(), op_name.empty() ? name_ : op_name, initializer,
                                    variable.shape(), variable.dtype(), true, reuse, site);
  slots.emplace(key, made);
  return made;
}

Variable Optimizer::zeros_slot(const Variable& variable, const std::string& slot_name, Site site,
                               const std::string& op_name) {
  return slot(variable, slot_name, zeros_initializer(), site, op_name);
}

std::vector<Tensor> Optimizer::cast_all(const std::vector<Tensor>& tensors, DType dtype,
                                        Site site) {
  std::vector<Tensor> made;
  for (const Tensor& tensor : tensors) made.push_back(cast(tensor, dtype, {}, site));
  return made;
}

Variable Optimizer::non_slot_variable(const std::string& name, const Operand& initial_value,
                                      const Variable& beside, Site site) {
  const Key key{beside.graph().uid(), name};
  const auto existing = non_slots_.find(key);
  if (existing != non_slots_.end()) return existing->second;
  const ColocationScope colocated(beside.graph(), &beside.op().node(), false);
  const Variable made(initial_value, {.trainable = false, .name = name}, site);
  non_slots_.emplace(key, made);
  return made;
}

}  // namespace towerflow::train
