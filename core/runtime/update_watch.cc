#include "core/runtime/update_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "core/graph/log.h"
#include "core/graph/node.h"
#include "core/graph/op_def.h"

namespace towerflow {
namespace {

constexpr int kStepsBeforeWarning = 10;  // training steps before the warning
constexpr std::size_t kMaxNamed = 3;     // maximum number of operations named in the warning

/// Adds the variables that a node of the tape writes.
void add_written(const Node& node, std::unordered_set<const Node*>& variables) {
  if (node.op->effect != Effect::writes_variable) return;
  for (const int input : node.op->written) {
    variables.insert(&node.inputs[static_cast<std::size_t>(input)].node());
  }
}

}  // namespace

bool UpdateWatch::trains(const PlanGraph& plan, const Collections& collections) {
  const std::vector<const Node*> listed = collections.nodes(GraphKeys::UPDATE_OPS);
  const std::unordered_set<const Node*> wanted(listed.begin(), listed.end());
  std::unordered_set<const Node*> kept;
  for (const Node* node : listed) add_written(*node, kept);
  bool trains = false, reaches = false, writes = false;
  for (const PlanNode& node : plan.nodes) {
    if (node.origin == nullptr) continue;
    trains = trains || node.origin->role == NodeRole::update;
    reaches = reaches || wanted.contains(node.origin);
    std::unordered_set<const Node*> written;
    add_written(*node.origin, written);
    writes = writes || std::any_of(written.begin(), written.end(),
                                   [&](const Node* variable) { return kept.contains(variable); });
  }
  // An initializer writes the variables too, but not in a step that trains.
  reaches = reaches || (trains && writes);
  const std::lock_guard lock(mutex_);
  reached_ = reached_ || reaches;
  unreached_.clear();
  if (reached_) return false;
  for (const Node* node : listed) unreached_.push_back(node->name);
  return trains;
}

void UpdateWatch::count_step() {
  if (steps_.load(std::memory_order_relaxed) >= kStepsBeforeWarning) return;
  if (steps_.fetch_add(1, std::memory_order_relaxed) + 1 != kStepsBeforeWarning) return;
  const std::lock_guard lock(mutex_);
  if (reached_ || unreached_.empty()) return;
  const std::size_t count = unreached_.size();
  std::string names;
  for (std::size_t i = 0; i < std::min(count, kMaxNamed); ++i) {
    names += fmt::format("{}'{}'", i == 0 ? "" : ", ", unreached_[i]);
  }
  if (count > kMaxNamed) names += fmt::format(" and {} more", count - kMaxNamed);
  log_message(
      LogLevel::warning,
      fmt::format("after {} training steps, none of the {} operations in UPDATE_OPS has run: {}. "
                  "The values that they update, such as the moving averages of batch "
                  "normalization, do not change. Create the training operation inside "
                  "tf::control_dependencies(tf::get_collection<tf::Fetch>(tf::GraphKeys::"
                  "UPDATE_OPS)), or fetch them with it",
                  kStepsBeforeWarning, count, names));
}

}  // namespace towerflow
