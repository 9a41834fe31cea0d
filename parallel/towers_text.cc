// The banner of towers: what was derived from their options.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "parallel/grouped.h"
#include "parallel/staged_towers.h"

namespace towerflow::parallel {
namespace {

std::string policy_text(AveragePolicy policy) {
  switch (policy) {
    case AveragePolicy::mean_over_present:
      return "the mean of the gradients that are present";
    case AveragePolicy::mean_over_all:
      return "their sum divided by the number of towers";
    case AveragePolicy::sum:
      return "their sum";
    case AveragePolicy::weighted_mean:
      return "their mean, weighted by tower";
    case AveragePolicy::require_all:
      return "the mean; all must be present";
  }
  return {};
}

std::string home_text(VariableHome home) {
  switch (home) {
    case VariableHome::host:
      return "in host memory, updated there once a step";
    case VariableHome::device:
      return "on the devices that they request, updated there";
    case VariableHome::mirrored:
      return "a copy on each accelerator, which updates it itself";
  }
  return {};
}

std::string clip_text(const GradientClip& clip) {
  const char* way = clip.way == ClipWay::by_value  ? "values"
                    : clip.way == ClipWay::by_norm ? "the norm of each"
                                                   : "the global norm";
  return fmt::format(
      "{}: {} at most {}",
      clip.stage == ClipStage::per_tower ? "clipped in each tower" : "clipped after the average",
      way, clip.limit);
}

/// Returns lines such as "  no gradient in tower_1: w:0, b:0", one for each set of towers.
std::string absences(const TrainedObjective& trained, const std::string& prefix) {
  std::map<std::string, std::vector<std::string>> absent;  // towers -> variables
  for (std::size_t i = 0; i < trained.grads.size(); ++i) {
    std::vector<std::string> towers;
    for (std::size_t tower = 0; tower < trained.tower_grads.size(); ++tower) {
      if (!trained.tower_grads[tower][i].grad)
        towers.push_back(fmt::format("{}_{}", prefix, tower));
    }
    if (towers.empty()) continue;
    const bool all = towers.size() == trained.tower_grads.size();
    absent[all ? "every tower" : fmt::format("{}", fmt::join(towers, ", "))].push_back(
        trained.grads[i].var.name());
  }
  std::string text;
  for (const auto& [towers, variables] : absent) {
    text += fmt::format("  no gradient in {}: {}\n", towers, fmt::join(variables, ", "));
  }
  return text;
}

}  // namespace

std::string StagedTowers::describe() const {
  std::vector<std::string> places;
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    places.push_back(fmt::format("{}_{} on {}", options_.name, i, devices_[i]));
  }
  std::string text = fmt::format("{} tower{}: {}\n", devices_.size(),
                                 devices_.size() == 1 ? "" : "s", fmt::join(places, ", "));
  if (options_.batch) {
    const GlobalBatch all = options_.batch->on(options_.num_towers);
    text += fmt::format("batch: {} examples a tower, {} a step",
                        grouped(options_.batch->examples()), grouped(all.examples()));
    if (options_.epoch_examples > 0) {
      text += fmt::format("; {:.2f} steps an epoch of {} examples",
                          all.steps(options_.epoch_examples), grouped(options_.epoch_examples));
    }
    text += "\n";
  }
  std::set<VariableHome> homes;
  for (const TrainedObjective& objective : objectives) {
    for (const GradAndVar& pair : objective.grads) homes.insert(pair.var.home());
  }
  for (const VariableHome home : homes) text += fmt::format("variables: {}\n", home_text(home));
  text += fmt::format("gradients: {}", policy_text(options_.policy));
  if (options_.clip) text += "; " + clip_text(*options_.clip);
  text += "\n";
  if (options_.deferred_gradients) text += "a step applies the gradients of the step before\n";
  if (options_.staged_variables) text += "towers read variables as of before the latest update\n";
  for (std::size_t i = 0; i < objectives.size(); ++i) {
    std::int64_t values = 0, trained = 0;
    for (const GradAndVar& pair : objectives[i].grads) {
      if (!pair.grad) continue;
      ++trained;
      values += std::max<std::int64_t>(pair.var.shape().elements(), 0);
    }
    text += fmt::format("{}: {} trains {} of {} variables, {} values\n", named_[i].name,
                        named_[i].optimizer, trained, objectives[i].grads.size(), grouped(values));
    text += absences(objectives[i], options_.name);
  }
  if (options_.update_ops) text += fmt::format("update ops: {} a step\n", update_ops.size());
  return text;
}

}  // namespace towerflow::parallel
