#pragma once

#include <map>
#include <span>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/graph/loop_frames.h"
#include "core/graph/plan_graph.h"

namespace towerflow {

/// An output of a node on the tape.
using TapeValue = std::pair<const Node*, int>;
inline TapeValue tape_value(const Tensor& tensor) { return {&tensor.node(), tensor.index()}; }

/// Fed tensors with the indices of their feeds.
using FedTensors = std::map<TapeValue, int>;

/// Returns whether a node is a source, such as a placeholder, all of whose outputs are fed. It must
/// not run, so control inputs on it are dropped.
bool is_fed_source(const Node& node, const FedTensors& fed);

/// Returns the conditions of both lists.
Guards united(const Guards& a, const Guards& b);

/// A loop as a unit of the level around it.
struct LoopUnit {
  const LoopFrame* frame = nullptr;
  std::vector<const Node*> exits;
  std::unordered_set<const Node*> inside;  ///< its nodes, also those of loops in it
  std::vector<const Node*> enters;
};

/// Builds the graph of one level: of the run itself, or of the condition or body of a loop.
class LevelBuilder {
 public:
  LevelBuilder(const LoopFrames& frames, const LoopFrame* frame, const FedTensors& fed)
      : frames_(frames), frame_(frame), fed_(fed) {}

  /// Adds a value that the caller of the plan supplies.
  void add_feed(TapeValue key, int feed, const OutputSpec& spec, bool depends_on_feed);
  /// Adds a value from outside of a loop that is known already.
  void add_constant(TapeValue key, Array value);
  /// Adds a copy of a node of the level around, a variable to which a tensor of this one refers.
  int add_variable(TapeValue key, const PlanNode& variable);

  PlanGraph build(const std::vector<Tensor>& fetches, const std::vector<const Node*>& targets,
                  std::span<const Fetch> places);

  std::size_t tape_nodes() const { return nodes_.size(); }

 private:
  struct Traced {
    ValueId value;
    Guards guards;
  };

  int add_value(TapeValue key, PlanNode node);

  // --- the nodes of the level -------------------------------------------------------------------

  void need(const Tensor& tensor) {
    if (!given_.contains(tape_value(tensor))) need(tensor.node());
  }

  void need(const Node& node);

  void collect();

  /// A fed Merge or Enter stands for its node.
  void need_control(const Node& node) {
    if (!given_.contains({&node, 0})) need(node);
  }

  /// Adds the nodes of a loop that an exit needs; what they read from outside is needed here.
  void walk_loop(LoopUnit& unit, const Node& exit);

  /// Returns nodes and loops, each after all that it reads or awaits, otherwise in tape order.
  std::vector<std::pair<const Node*, const LoopFrame*>> ordered_units();

  // --- values -----------------------------------------------------------------------------------

  const Traced& traced(const Tensor& tensor) const;

  /// Returns the node of the plan that runs when `node` has run, -1 for none, and its conditions.
  std::pair<int, Guards> control_of(const Node& node) const;

  void set_outputs(const Node& node, int made, const Guards& guards);

  /// Returns the node that gives a condition to the host, after the nodes `awaited`.
  int pred_node(const Tensor& pred, std::vector<int> awaited, const Node& origin);

  bool is_own_switch(const Node& node) const;

  // --- nodes ------------------------------------------------------------------------------------

  void add_node(const Node& node);

  PlanNode plan_node(const Node& node);

  void add_control(const Node& node, PlanNode& made) const;

  /// Gives a node that writes a variable reads of its own in place of inputs that are the variable.
  void read_before_write(PlanNode& writer);

  /// A Switch is no node: its outputs are its input, under a condition.
  void add_switch(const Node& node);

  void add_merge(const Node& node);

  /// Returns the condition that one of several holds, as a value that the plan computes.
  Guards any_of(const std::vector<Guards>& open, const Node& origin);

  /// Returns the value of a fetch. One that may not exist is checked when it is fetched.
  ValueId fetched(const Tensor& fetch);

  // --- loops ------------------------------------------------------------------------------------

  void add_loop(const LoopUnit& unit);

  const LoopFrames& frames_;
  const LoopFrame* frame_;
  const FedTensors& fed_;
  PlanGraph graph_;
  std::map<TapeValue, Traced> given_;               // fed, constant, or a variable
  std::unordered_map<const Node*, int> variables_;  // copies of variables
  std::unordered_set<const Node*> nodes_, exits_;
  std::vector<const Node*> pending_, pending_exits_;
  std::map<const LoopFrame*, LoopUnit> loops_;
  std::map<TapeValue, Traced> values_;
  std::unordered_map<const Node*, Traced> controls_;
  /// By the condition, when it exists, and what it waits for.
  std::map<std::tuple<ValueId, Guards, std::vector<int>>, int> preds_;
};

}  // namespace towerflow
