#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/graph/fetch.h"
#include "core/graph/lane.h"
#include "core/graph/op_def.h"
#include "core/graph/pass_options.h"
#include "core/graph/plan_index.h"

namespace towerflow {

/// A node on its way into a plan: copied from the tape, or put there by a rewrite.
struct PlanNode {
  const OpDef* op = nullptr;
  Attrs attrs;
  std::vector<ValueId> inputs;
  std::vector<int> control;         ///< nodes that must have run
  std::vector<OutputSpec> outputs;  ///< as precise as feeds and constants make them
  std::vector<Array> values;        ///< outputs that are known already; empty Arrays otherwise
  const Node* origin = nullptr;     ///< whose name, site and state it has
  int device = 0;                   ///< index into DeviceSet
  int feed = -1;                    ///< the feed it stands for
  int looked_into = -1;             ///< the variable behind input 0; see variable_behind
  Lane lane = Lane::compute;        ///< a copy of input 0 to other memory, unless `compute`
  bool replica = false;             ///< its output is the copy of a variable that other memory has
  bool may_be_unset = false;  ///< of a replica: who reads it expects that there may be no value
  bool own_read = false;      ///< `w/read`: the variable's value at the place of each reader
  bool fed_behind = false;    ///< what the tape computed is fed behind it: its shape may differ
  bool dead = false;          ///< replaced, or no longer needed

  bool is_known(std::size_t output) const {
    return output < values.size() && !values[output].empty();
  }
};

/// What a rewrite makes of a node, which keeps its name, its device and what it waits for.
struct Replacement {
  int node = -1;
  std::string op;
  Attrs attrs;
  std::vector<ValueId> inputs;
};

/// The part of the tape that one run needs, in tape order: what passes work on.
struct PlanGraph {
  std::vector<PlanNode> nodes;     ///< an input stands before its consumer
  std::vector<ValueId> fetches;    ///< node -1 for a fetched operation
  std::vector<int> targets;        ///< nodes that must run though nobody reads them
  bool winograd = true;            ///< PassOptions::choose_winograd
  std::optional<PlanIndex> index;  ///< who reads what, while that is indexed

  const PlanNode& node(ValueId value) const { return nodes[static_cast<std::size_t>(value.node)]; }
  PlanNode& node(ValueId value) { return nodes[static_cast<std::size_t>(value.node)]; }
  const OutputSpec& spec(ValueId value) const {
    return node(value).outputs[static_cast<std::size_t>(value.output)];
  }
  /// While rules are applied: whether the device of a node has a kernel for it.
  std::function<bool(const PlanNode&)> has_kernel;

  /// Puts other ops in the place of nodes: all of them, or none where a device has no kernel for
  /// what its node would be. Returns whether it did. Outputs and who reads what follow.
  bool replace(std::vector<Replacement> replacements);
  bool replace(int node, std::string op, Attrs attrs, std::vector<ValueId> inputs) {
    return replace({{node, std::move(op), std::move(attrs), std::move(inputs)}});
  }
  /// Indexes who reads what, until `index` is reset: rewrites ask for it at every node.
  void index_readers() { index.emplace(*this); }
  /// Notes what a node reads after it has changed.
  void index_reads(int node);
  /// While readers are indexed: whether the value is fetched.
  bool is_fetched(ValueId value) const { return index->is_fetched(value); }
  /// While readers are indexed: how many inputs of living nodes and fetches read the value.
  int uses(ValueId value) const { return index->uses(value); }
  /// Takes a node out that nobody needs any more.
  void remove(int node);
  /// The node of the variable whose storage `value` is or looks into, -1 for none.
  int variable_behind(ValueId value) const;
  /// Notes the variable behind the first input of a node.
  void find_variable(PlanNode& node) const;
  /// Puts the nodes into another order, given by their numbers, in which an input stands before its
  /// consumer. While readers are not indexed.
  void reorder(const std::vector<int>& order);
  /// Marks nodes dead that no fetch, target or effect needs.
  void remove_unneeded();
  /// Throws InternalError, naming `pass` and the node, when a living node reads or waits for a dead
  /// one, or reads what the index of readers does not know that it reads.
  void verify(const std::string& pass) const;
};

/// What a run asks for, tensors first: the key under which its plan is kept.
struct FeedSpec {
  Tensor tensor;
  DType dtype;
  Shape shape;
};

/// What each pass did, in words, for `plan_report`.
struct PassLog {
  std::vector<std::string> lines;
  void add(std::string line) { lines.push_back(std::move(line)); }
};

/// Pass 1: the nodes that `fetches` need, feeds put in, shapes made concrete.
PlanGraph build_plan_graph(std::span<const Fetch> fetches, std::span<const FeedSpec> feeds,
                           PassLog& log);

/// Runs the shape rule of `node` again with what is known of its inputs now.
void infer_plan_node(PlanGraph& graph, PlanNode& node);

}  // namespace towerflow
