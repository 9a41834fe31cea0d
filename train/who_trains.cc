#include "train/who_trains.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "autodiff/gradients.h"
#include "autodiff/why_none.h"
#include "core/graph/op_def.h"
#include "core/graph/trial.h"
#include "train/who_trains_text.h"

namespace towerflow {
namespace {

using Nodes = std::unordered_set<const Node*>;

/// Adds to `nodes` all that a run of `operation` runs.
void add_run_nodes(const Operation& operation, Nodes& nodes) {
  std::vector<const Node*> open{&operation.node()};
  while (!open.empty()) {
    const Node* node = open.back();
    open.pop_back();
    if (!nodes.insert(node).second) continue;
    for (const Tensor& input : node->inputs) open.push_back(&input.node());
    open.insert(open.end(), node->control_inputs.begin(), node->control_inputs.end());
  }
}

/// Returns the variables that a node writes.
std::vector<Tensor> written(const Node& node) {
  std::vector<Tensor> variables;
  if (node.op->effect != Effect::writes_variable) return variables;
  for (const int input : node.op->written) {
    variables.push_back(node.inputs[static_cast<std::size_t>(input)]);
  }
  return variables;
}

bool writes(const Node& node, const Tensor& variable) {
  const std::vector<Tensor> variables = written(node);
  return std::find(variables.begin(), variables.end(), variable) != variables.end();
}

/// Returns "Momentum" for "Momentum/update_conv1/weights/ApplyMomentum", the name of an update by
/// an optimizer, and for another update its own name.
std::string optimizer_of(const std::string& update) {
  const auto at = update.find("/update_");
  return at == std::string::npos ? update : update.substr(0, at);
}

/// Finds the updates of variables among the nodes that one train op runs.
class Updates {
 public:
  explicit Updates(const Operation& train_op) {
    add_run_nodes(train_op, run_);
    for (const Node* node : run_) {
      if (node->op->effect == Effect::writes_variable) writers_.push_back(node);
    }
    std::sort(writers_.begin(), writers_.end(),
              [](const Node* a, const Node* b) { return a->id < b->id; });
  }

  bool runs(const Operation& operation) const { return run_.contains(&operation.node()); }

  /// Returns the first node that changes the variable, or null.
  const Node* of(const Variable& variable) const { return of(variable.ref()); }
  const Node* of(const Tensor& variable) const {
    const auto found = std::find_if(writers_.begin(), writers_.end(),
                                    [&](const Node* node) { return writes(*node, variable); });
    return found == writers_.end() ? nullptr : *found;
  }

 private:
  Nodes run_;
  std::vector<const Node*> writers_;
};

/// Adds what the loss of one tower gives each variable.
void add_tower(const Tensor& loss, const std::vector<Variable>& variables,
               std::vector<VariableTraining>& found, Site site) {
  std::vector<Training> kinds;
  {
    const GraphTrial trial(loss.graph());
    for (const OptionalGradient& gradient : gradients(loss, variables, {}, site)) {
      kinds.push_back(!gradient              ? Training::absent
                      : gradient->is_dense() ? Training::dense
                                             : Training::slices);
    }
  }
  for (std::size_t i = 0; i < variables.size(); ++i) {
    VariableTraining& row = found[i];
    const bool absent = kinds[i] == Training::absent;
    row.towers.push_back({absent || row.update ? kinds[i] : Training::frozen,
                          absent ? why_none(loss, variables[i], {}, site) : WhyNone{}});
  }
}

void check_trained(const std::vector<TrainedLoss>& trained, Site site) {
  if (trained.empty()) throw ValueError("there is no loss to ask about", {.site = site});
  for (const TrainedLoss& one : trained) {
    if (one.losses.empty()) {
      throw ValueError(fmt::format("'{}' has no tower's loss", one.name), {.site = site});
    }
    if (!one.train_op) {
      throw ValueError(fmt::format("'{}' has no train op", one.name), {.site = site});
    }
    for (const Tensor& loss : one.losses) {
      if (&loss.graph() == &one.train_op.graph() &&
          &loss.graph() == &trained[0].losses[0].graph()) {
        continue;
      }
      throw ValueError(fmt::format("the loss '{}' and the train op '{}' are in different graphs",
                                   loss.op().name(), one.train_op.name()),
                       {.site = site});
    }
  }
}

/// Returns what the collections hold.
std::vector<Operation> collected(const std::vector<std::string>& collections) {
  std::vector<Operation> updates;
  for (const std::string& name : collections) {
    for (const Fetch& update : get_collection<Fetch>(name)) updates.push_back(update.operation());
  }
  return updates;
}

/// Sorts the collected update ops by whether a train op runs them, or others that write the same
/// variables.
void add_collected_updates(const std::vector<Operation>& all, const std::vector<Updates>& updates,
                           WhoTrains& who) {
  Nodes seen, repeated, instead;
  for (const Operation& update : all) {
    if (!seen.insert(&update.node()).second) {
      if (repeated.insert(&update.node()).second) who.updates_twice.push_back(update);
      continue;
    }
    const bool run = std::any_of(updates.begin(), updates.end(),
                                 [&](const Updates& of) { return of.runs(update); });
    (run ? who.updates_run : who.updates_not_run).push_back(update);
  }
  if (!who.updates_run.empty()) return;
  for (const Operation& update : who.updates_not_run) {
    for (const Tensor& variable : written(update.node())) {
      for (const Updates& of : updates) {
        const Node* other = of.of(variable);
        if (other == nullptr || !instead.insert(other).second) continue;
        who.updates_instead.emplace_back(const_cast<Node*>(other));
      }
    }
  }
}

}  // namespace

WhoTrains who_trains_what(const std::vector<TrainedLoss>& trained, const WhoTrainsOptions& options,
                          Site site) {
  check_trained(trained, site);
  const DefaultGraphGuard here(trained[0].losses[0].graph());
  WhoTrains who;
  who.variables = trainable_variables();
  std::vector<Updates> updates;
  for (const TrainedLoss& one : trained) {
    updates.emplace_back(one.train_op);
    auto& rows = who.losses.emplace_back(who.variables.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const Node* update = updates.back().of(who.variables[i]);
      if (update == nullptr) continue;
      rows[i].update = Operation(const_cast<Node*>(update));
      rows[i].optimizer = optimizer_of(update->name);
    }
    for (const Tensor& loss : one.losses) add_tower(loss, who.variables, rows, site);
  }
  for (std::size_t i = 0; i < who.variables.size(); ++i) {
    if (std::none_of(who.losses.begin(), who.losses.end(),
                     [&](const auto& rows) { return bool(rows[i].update); })) {
      who.untrained.push_back(who.variables[i]);
    }
  }
  add_collected_updates(collected(options.update_collections), updates, who);
  who.text = who_trains_text(who, trained);
  return who;
}

}  // namespace towerflow
