#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/graph/collective.h"
#include "core/graph/fetch.h"
#include "core/graph/lane.h"
#include "core/graph/op_def.h"
#include "core/graph/pass_options.h"
#include "core/graph/plan_index.h"

namespace towerflow {

struct PlanLoop;  // core/graph/plan_loop.h

/// A condition under which a node runs: the bool that node `pred` of the plan computes is `branch`.
struct Guard {
  int pred = -1;
  bool branch = false;
  auto operator<=>(const Guard&) const = default;
};
/// Conditions that must all hold. A condition that is computed only if others hold follows them.
using Guards = std::vector<Guard>;

/// A node of a plan in the making: copied from the tape, or added by a pass.
struct PlanNode {
  const OpDef* op = nullptr;
  Attrs attrs;
  std::vector<ValueId> inputs;
  std::vector<int> control;         ///< nodes that must run before
  std::vector<OutputSpec> outputs;  ///< refined by feeds and constants
  std::vector<Array> values;        ///< of the outputs that are known; empty Arrays for the others
  const Node* origin = nullptr;     ///< the node of the tape whose name, site and state it has
  int device = 0;                   ///< index into DeviceSet
  int feed = -1;                    ///< index of the feed it stands for
  int input_variable = -1;          ///< the variable behind input 0; see root_variable
  Lane lane = Lane::compute;        ///< a copy lane: copies input 0 to other memory
  bool replica = false;             ///< its output is a variable's replica in other memory
  bool allows_uninitialized =
      false;                     ///< of a replica: its readers accept an uninitialized variable
  bool mirrors = false;          ///< updates replicas as another node updates their variables
  bool urgent = false;           ///< starts as soon as it can: other devices wait for it
  int meeting = -1;              ///< nodes of one meeting run together, one on each device
  bool own_read = false;         ///< `w/read`: each consumer sees the value at its own turn
  bool depends_on_feed = false;  ///< depends on a fed value that need not have the static shape
  bool dead = false;             ///< replaced, or no longer needed
  Guards guards;                 ///< in a branch of a cond: when it runs
  std::vector<Guards> choices;   ///< of a Merge: for each input, when it is the value
  bool must_run = false;         ///< a fetched value: it is an error if its guards do not hold
  std::shared_ptr<const PlanLoop> loop;  ///< of a node that stands for a loop

  bool is_merge() const { return !choices.empty(); }
  /// Returns whether its inputs need not exist when it runs.
  bool reads_absent() const { return is_merge() || op->name == "_AnyOf"; }
  bool is_known(std::size_t output) const {
    return output < values.size() && !values[output].empty();
  }
};

/// What a rewrite replaces a node by; the node keeps its name, device and control inputs, and
/// awaits what nodes await that it no longer reads.
struct Replacement {
  int node = -1;
  std::string op;
  Attrs attrs;
  std::vector<ValueId> inputs;
};

/// The part of the tape that one run needs, in tape order; passes transform it.
struct PlanGraph {
  std::vector<PlanNode> nodes;     ///< inputs come before their consumers
  std::vector<ValueId> fetches;    ///< node -1 for a fetched operation
  std::vector<int> targets;        ///< nodes that must run even if nothing reads them
  bool winograd = true;            ///< PassOptions::choose_winograd
  std::size_t recompute_from = 0;  ///< PassOptions::recompute_from
  AllReduceOptions all_reduce;     ///< PassOptions::all_reduce; never AllReduce::automatic
  bool chose_all_reduce = false;   ///< the algorithm is not the program's choice
  std::vector<bool> accelerators;  ///< per device: whether it has memory of its own
  /// Values that several devices compute: the same value on another device.
  std::map<std::pair<ValueId, int>, ValueId> twins;
  std::optional<PlanIndex> index;  ///< who reads what, while rewrites need it

  const PlanNode& node(ValueId value) const { return nodes[static_cast<std::size_t>(value.node)]; }
  PlanNode& node(ValueId value) { return nodes[static_cast<std::size_t>(value.node)]; }
  const OutputSpec& spec(ValueId value) const {
    return node(value).outputs[static_cast<std::size_t>(value.output)];
  }
  /// Set while rules are applied: returns whether the device of a node has a kernel for it.
  std::function<bool(const PlanNode&)> has_kernel;
  /// Set while passes run: returns whether a library can sum values of these devices.
  std::function<Collective(const std::vector<int>&)> collective;

  /// Replaces the ops and inputs of nodes: of all, or of none if a device has no kernel for its new
  /// node. Returns whether it did. Updates outputs and the index.
  bool replace(std::vector<Replacement> replacements);
  bool replace(int node, std::string op, Attrs attrs, std::vector<ValueId> inputs) {
    return replace({{node, std::move(op), std::move(attrs), std::move(inputs)}});
  }
  /// Indexes who reads what, until `index` is reset; rewrites query it at every node.
  void build_index() { index.emplace(*this); }
  /// Updates the index after a node has changed.
  void update_index(int node);
  /// Returns whether the value is fetched. Requires the index.
  bool is_fetched(ValueId value) const { return index->is_fetched(value); }
  /// Returns how many inputs of living nodes and fetches read the value. Requires the index.
  int uses(ValueId value) const { return index->uses(value); }
  /// Removes a node that nothing needs any more.
  void remove(int node);
  /// Returns the node of the variable whose storage `value` is or views, -1 for none.
  int root_variable(ValueId value) const;
  /// Returns whether node `variable` is a variable with the home VariableHome::mirrored.
  bool is_mirrored(int variable) const;
  /// Sets `input_variable` of a node to the variable behind its first input.
  void update_input_variable(PlanNode& node) const;
  /// Reorders the nodes, and renumbers what refers to them: `order` lists their numbers, inputs
  /// before consumers. Must not be called while there is an index.
  void reorder(const std::vector<int>& order);
  /// Removes nodes that no fetch or target needs, except feeds.
  void remove_unneeded();
  /// Throws InternalError, naming `pass` and the node, if a living node reads or waits for a dead
  /// one, or if the index or `input_variable` of a node is out of date.
  void verify(const std::string& pass) const;
};

/// A fed tensor with the dtype and shape of its value.
struct FeedSpec {
  Tensor tensor;
  DType dtype;
  Shape shape;
};

/// What each pass did, as text for `plan_report`.
struct PassLog {
  std::vector<std::string> lines;
  void add(std::string line) { lines.push_back(std::move(line)); }
};

/// Pass 1: returns the nodes that `fetches` need, with feeds in place of fed tensors and shapes
/// refined.
PlanGraph build_plan_graph(std::span<const Fetch> fetches, std::span<const FeedSpec> feeds,
                           PassLog& log);

/// Runs the shape rule of `node` again with what is now known about its inputs.
void infer_plan_node(PlanGraph& graph, PlanNode& node);

}  // namespace towerflow
