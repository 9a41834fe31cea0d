// Rewrites a tree of elementwise ops into one instruction.
#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <set>

#include "ops/elementwise/match.h"
#include "ops/elementwise/program.h"
#include "ops/family.h"
#include "ops/fusion.h"

namespace towerflow {
namespace {

// Limits beyond which a longer chain saves little, since it reads more arrays than a processor
// prefetches.
constexpr std::size_t kMostSteps = 64;
constexpr std::ptrdiff_t kMostArrays = 16;

/// The nodes that become one instruction; `last` is the last of them.
class Chain {
 public:
  Chain(const PlanGraph& graph, int last) : graph_(graph), last_(last) {
    take(last);
    // Nodes are in topological order, and candidates are visited from the last to the first: all
    // consumers of a node are visited before it.
    while (!candidates_.empty()) {
      const int id = *candidates_.begin();
      candidates_.erase(candidates_.begin());
      if (!only_feeds_members(id)) continue;
      if (fits(id))
        take(id);
      else
        left_.push_back(id);
    }
  }

  bool worthwhile() const {
    return members_.size() > 1 || std::any_of(reads_.begin(), reads_.end(), [&](const auto& read) {
             return !members_.contains(read.first) && broadcasts(read.first);
           });
  }
  const std::set<int>& members() const { return members_; }
  /// Returns the nodes that only the chain reads but that it had no room for.
  const std::vector<int>& left() const { return left_; }

  /// Returns the steps of all members; appends the values that they read from outside to `inputs`.
  ElementwiseProgram program(std::vector<ValueId>& inputs) const {
    ElementwiseProgram program{node_at(graph_, last_).outputs[0].shape, {}};
    std::map<ValueId, ElementwiseOperand> known;
    const auto operand_of = [&](ValueId value) {
      const auto [it, added] =
          known.try_emplace(value, ElementwiseOperand{false, static_cast<int>(inputs.size())});
      if (added) inputs.push_back(value);
      return it->second;
    };
    for (const int id : members_) {
      const PlanNode& node = node_at(graph_, id);
      std::vector<ElementwiseOperand> operands;
      for (const ValueId input : node.inputs) {
        const bool repeats = !known.contains(input) && broadcasts(input.node);
        operands.push_back(operand_of(repeats ? node_at(graph_, input.node).inputs[0] : input));
      }
      add_steps(node, operands, program.steps);
      known[{id, 0}] = {true, static_cast<int>(program.steps.size()) - 1};
    }
    return program;
  }

 private:
  /// Returns whether a node is a BroadcastTo whose input the program can read, which broadcasts its
  /// inputs itself.
  bool broadcasts(int id) const {
    const PlanNode& node = node_at(graph_, id);
    return node.op->name == "BroadcastTo" && !node.dead && node.feed < 0 && !node.is_known(0) &&
           node.control.empty() && node.device == node_at(graph_, last_).device &&
           graph_.node(node.inputs[1]).is_known(static_cast<std::size_t>(node.inputs[1].output)) &&
           graph_.spec(node.inputs[0]).shape.fully_known() && can_defer(graph_, id, last_);
  }

  static void add_steps(const PlanNode& node, const std::vector<ElementwiseOperand>& operands,
                        std::vector<ElementwiseStep>& steps) {
    const DType dtype = node.outputs[0].dtype;
    const auto first = static_cast<int>(steps.size());
    if (const auto* inner = node.attrs.get_if<ElementwiseProgram>()) {
      for (ElementwiseStep step : inner->steps) {
        for (ElementwiseOperand& operand : step.operands) {
          if (operand.is_step)
            operand.index += first;
          else
            operand = operands[static_cast<std::size_t>(operand.index)];
        }
        steps.push_back(std::move(step));
      }
    } else if (folds(node)) {  // a left fold over its inputs
      ElementwiseOperand sum = operands[0];
      for (std::size_t i = 1; i < operands.size(); ++i) {
        steps.push_back({node.op->fold_op, dtype, {sum, operands[i]}});
        sum = {true, static_cast<int>(steps.size()) - 1};
      }
    } else {
      steps.push_back({node.op->name, dtype, operands});
    }
  }

  static bool folds(const PlanNode& node) {
    return !node.op->fold_op.empty() && node.inputs.size() > 1;
  }

  static std::size_t steps_of(const PlanNode& node) {
    if (const auto* inner = node.attrs.get_if<ElementwiseProgram>()) return inner->steps.size();
    return folds(node) ? node.inputs.size() - 1 : 1;
  }

  bool only_feeds_members(int id) const {
    return matches(graph_, id, last_) && graph_.uses({id, 0}) == reads_.at(id) &&
           !graph_.index->is_awaited(id);
  }

  bool fits(int id) const {
    const PlanNode& node = node_at(graph_, id);
    return steps_ + steps_of(node) <= kMostSteps && count_arrays_with(node) <= kMostArrays &&
           can_defer(graph_, id, last_);
  }

  /// Counts the arrays in memory that a piece would read if `node` were a member too.
  std::ptrdiff_t count_arrays_with(const PlanNode& node) const {
    std::set<int> read;
    for (const auto& [id, times] : reads_) read.insert(id);
    for (const ValueId input : node.inputs) read.insert(input.node);
    return std::count_if(read.begin(), read.end(), [&](int id) {
      const PlanNode& from = node_at(graph_, id);
      return &from != &node && !members_.contains(id) && !from.outputs.empty() &&
             from.outputs[0].shape.has_rank() && from.outputs[0].shape.rank() > 0;
    });
  }

  void take(int id) {
    const PlanNode& node = node_at(graph_, id);
    members_.insert(id);
    steps_ += steps_of(node);
    for (const ValueId input : node.inputs) {
      ++reads_[input.node];
      candidates_.insert(input.node);
    }
  }

  const PlanGraph& graph_;
  int last_;
  std::set<int> members_;
  std::set<int, std::greater<>> candidates_;
  std::vector<int> left_;
  std::map<int, int> reads_;  // number of reads of each node by members
  std::size_t steps_ = 0;
};

bool fuse(PlanGraph& graph, int id, const Chain& chain) {
  std::vector<ValueId> inputs;
  ElementwiseProgram program = chain.program(inputs);
  if (!graph.replace(id, "_Elementwise", std::move(program), std::move(inputs))) return false;
  for (const int member : chain.members()) {
    // Remove now, so that it does not count as a reader when the next chain is sought.
    if (member != id) graph.remove(member);
  }
  return true;
}

/// Fuses a chain such as Tanh(Mul(x, y)) into _Elementwise(x, y).
///
/// Nodes that a chain has no room for become the ends of further chains, however deep the graph is.
bool fuse_chain(PlanGraph& graph, int id) {
  if (!is_elementwise(graph, node_at(graph, id)) || joins_consumer_chain(graph, id)) return false;
  bool fused = false;
  std::vector<int> ends{id};
  while (!ends.empty()) {
    const int end = ends.back();
    ends.pop_back();
    const Chain chain(graph, end);
    ends.insert(ends.end(), chain.left().begin(), chain.left().end());
    if (chain.worthwhile() && fuse(graph, end, chain)) fused = fused || end == id;
  }
  return fused;
}

}  // namespace

static void register_elementwise_rewrites(std::vector<RewriteRule>& rules) {
  rules.push_back({"elementwise chain", "elementwise", fuse_chain});
}

OpFamily elementwise_rules_family() { return {.rules = register_elementwise_rewrites}; }

}  // namespace towerflow
