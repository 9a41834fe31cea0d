// The pass that computes elementwise chains again for the backward pass instead of keeping their
// results. TensorFlow's memory optimizer does the same for nodes that the user names
// (RECOMPUTATION_HEURISTICS of grappler).
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "core/graph/rewrite.h"
#include "ops/family.h"

namespace towerflow {
namespace {

constexpr std::size_t kLeastBytes = 1024 * 1024;  // smaller results are kept: they free little
constexpr int kFar = 64;                // nodes between two uses of a result that is computed again
constexpr std::size_t kSmallPart = 16;  // an input smaller by this factor may live longer for it

/// Finds the results that are needed early, then not for long, and then late, and whose inputs are
/// kept until then anyway. Adds a second node for the late uses.
class Recomputer {
 public:
  explicit Recomputer(PlanGraph& graph)
      : graph_(graph), size_(static_cast<int>(graph.nodes.size())), readers_(graph.nodes.size()) {
    for (int i = 0; i < size_; ++i) {
      const PlanNode& node = at(i);
      if (node.dead) continue;
      for (std::size_t k = 0; k < node.inputs.size(); ++k) {
        readers_of(node.inputs[k].node).push_back({i, i, k});
      }
      for (const Guard& guard : node.guards) fixed_.insert({guard.pred, 0});
    }
    for (const ValueId fetch : graph.fetches) fixed_.insert(fetch);
    for (int i = size_; i-- > 0;) {
      const PlanNode& node = at(i);
      if (node.dead) continue;
      for (const ValueId input : node.inputs) {
        int& last = last_use_[input];
        last = std::max({last, i, node.op->view ? last_use_[{i, 0}] : 0});
      }
    }
  }

  /// Chooses from the last node to the first, since what is computed again reads its inputs late.
  void choose() {
    for (int i = size_; i-- > 0;) {
      if (!may_repeat(i)) continue;
      const auto [first_late, gap] = largest_gap(i);
      const std::vector<Use>& uses = readers_of(i);
      if (gap < kFar) continue;
      const int position = uses[first_late].position;
      if (!inputs_live_until(i, position)) continue;
      const int clone = size_ + static_cast<int>(clones_.size());
      clones_.push_back(
          {i, position, {uses.begin() + static_cast<std::ptrdiff_t>(first_late), uses.end()}});
      bytes_ += bytes_of({i, 0});
      for (std::size_t k = 0; k < at(i).inputs.size(); ++k) {
        const ValueId input = at(i).inputs[k];
        add_reader(input.node, {position, clone, k});
        int& last = last_use_[input];
        last = std::max(last, position);
      }
    }
  }

  std::size_t bytes() const { return bytes_; }
  std::size_t count() const { return clones_.size(); }

  void apply() {
    for (const Clone& clone : clones_) {
      PlanNode again = at(clone.source);
      graph_.nodes.push_back(std::move(again));
    }
    for (std::size_t k = 0; k < clones_.size(); ++k) {
      for (const Use& use : clones_[k].late) {
        at(use.node).inputs[use.input] = {size_ + static_cast<int>(k), 0};
      }
    }
    std::multimap<int, int> before;  // position -> clone; those chosen last are inputs of others
    for (int k = static_cast<int>(clones_.size()); k-- > 0;) {
      before.emplace(clones_[static_cast<std::size_t>(k)].position, size_ + k);
    }
    std::vector<int> order;
    for (int i = 0; i < size_; ++i) {
      const auto [begin, end] = before.equal_range(i);
      for (auto it = begin; it != end; ++it) order.push_back(it->second);
      order.push_back(i);
    }
    graph_.reorder(order);
  }

 private:
  struct Use {
    int position = 0;  ///< in the order of the nodes
    int node = 0;
    std::size_t input = 0;
  };
  struct Clone {
    int source = 0;
    int position = 0;  ///< it comes before the node there
    std::vector<Use> late;
  };

  PlanNode& at(int node) { return graph_.nodes[static_cast<std::size_t>(node)]; }
  std::vector<Use>& readers_of(int node) { return readers_[static_cast<std::size_t>(node)]; }

  void add_reader(int node, Use use) {
    std::vector<Use>& uses = readers_of(node);
    uses.insert(
        std::upper_bound(uses.begin(), uses.end(), use,
                         [](const Use& a, const Use& b) { return a.position < b.position; }),
        use);
  }

  std::size_t bytes_of(ValueId value) const {
    const OutputSpec& spec = graph_.spec(value);
    return spec.shape.fully_known() ? spec.shape.bytes(dtype_size(spec.dtype)) : 0;
  }

  bool may_repeat(int id) {
    const PlanNode& node = at(id);
    const bool chain = node.op->elementwise != nullptr || node.op->name == "_Elementwise";
    if (!chain || node.op->effect != Effect::pure || node.dead || node.feed >= 0 ||
        node.is_known(0) || node.outputs.size() != 1 || !node.guards.empty() || node.must_run ||
        fixed_.contains({id, 0}) || bytes_of({id, 0}) < kLeastBytes) {
      return false;
    }
    const std::vector<Use>& uses = readers_of(id);
    return !uses.empty() && std::all_of(uses.begin(), uses.end(), [&](const Use& use) {
      // A clone that reads it is on its device.
      return use.node >= size_ || (!at(use.node).op->view && at(use.node).device == node.device);
    });
  }

  /// Returns the index of the use after the longest time without one, and that time in nodes.
  std::pair<std::size_t, int> largest_gap(int id) {
    const std::vector<Use>& uses = readers_of(id);
    std::size_t best = 0;
    int most = 0, before = id;
    for (std::size_t k = 0; k < uses.size(); ++k) {
      if (uses[k].position - before > most) {
        most = uses[k].position - before;
        best = k;
      }
      before = uses[k].position;
    }
    return {best, most};
  }

  /// Returns whether the inputs of a node exist at a later position anyway, or are small. A
  /// variable may have changed until then.
  bool inputs_live_until(int id, int position) {
    const PlanNode& node = at(id);
    return std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
      const PlanNode& from = graph_.node(input);
      if (from.is_known(static_cast<std::size_t>(input.output)) || from.feed >= 0) return true;
      if (graph_.root_variable(input) >= 0 || from.device != node.device) return false;
      const std::size_t bytes = bytes_of(input);
      const bool small = bytes > 0 && bytes * kSmallPart <= bytes_of({id, 0});
      return small || last_use_[input] >= position;
    });
  }

  PlanGraph& graph_;
  const int size_;
  std::vector<std::vector<Use>> readers_;  // per node, by position
  std::map<ValueId, int> last_use_;        // also through views
  std::set<ValueId> fixed_;                // fetched values and conditions
  std::vector<Clone> clones_;
  std::size_t bytes_ = 0;
};

std::string run_recompute(PlanGraph& graph) {
  if (graph.recompute_from == 0) return "";
  Recomputer recomputer(graph);
  recomputer.choose();
  if (recomputer.bytes() < graph.recompute_from) return "";
  recomputer.apply();
  return fmt::format("{} values of {} bytes are computed again instead of kept", recomputer.count(),
                     recomputer.bytes());
}

}  // namespace

static void register_recompute_passes(std::vector<PlanPass>& passes) {
  passes.push_back({"recompute", run_recompute});
}

OpFamily recompute_family() { return {.passes = register_recompute_passes}; }

}  // namespace towerflow
