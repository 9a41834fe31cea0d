#pragma once

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "core/runtime/estimate.h"
#include "core/runtime/plan.h"

namespace towerflow {

/// Converts the final graph into slots and instruction lists.
class Lowering {
 public:
  Lowering(const PlanGraph& graph, const DeviceSet& devices, KernelCache& kernels,
           const CompileOptions& options, Plan& plan)
      : graph_(graph),
        devices_(devices),
        kernels_(kernels),
        nested_(options.nested),
        worker_(options.worker),
        plan_(plan),
        fetched_(graph.fetches.begin(), graph.fetches.end()) {}

  void run() {
    find_storages();
    find_lifetimes();
    after_.assign(graph_.nodes.size(), -1);
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (!graph_.nodes[i].dead) lower_node(static_cast<int>(i));
    }
    lower_fetches();
    schedule(std::move(drafts_), devices_, nested_, plan_);
  }

 private:
  /// The accesses to one variable so far.
  struct Accesses {
    int writer = -1;
    std::vector<int> readers;  // since the last write
  };

  // --- storages of variables: which values refer to them, and until when -----------------------

  /// Returns the node that represents the storage that `value` is or is a view of: a variable, or
  /// the first node that fills a replica of one; -1 for none.
  int storage_of(ValueId value) const {
    const PlanNode& node = graph_.node(value);
    const bool own = node.op->effect == Effect::variable || node.replica;
    const bool passes_on = node.op->view || graph_.spec(value).is_ref;
    return own || (passes_on && !node.is_known(0)) ? storages_[static_cast<std::size_t>(value.node)]
                                                   : -1;
  }

  /// Returns whether a node writes the host's replica of a variable input stored elsewhere.
  bool writes_replica(const PlanNode& node, std::size_t input) const {
    return contains_input(node.op->written, input) && !node.mirrors &&
           graph_.node(node.inputs[input]).replica;
  }

  /// Finds the storage of each node: its own, else the one behind its first input.
  void find_storages();

  void find_lifetimes();

  /// Returns whether the variable of a view is written before the last use of the view.
  bool is_written_during_use(int root, int view) const {
    const auto it = writers_.find(root);
    if (it == writers_.end()) return false;
    const auto writer = std::upper_bound(it->second.begin(), it->second.end(), view);
    return writer != it->second.end() && *writer <= last_use_[static_cast<std::size_t>(view)];
  }

  // --- slots -----------------------------------------------------------------------------------

  int add_slot(Slot slot) {
    plan_.slots.push_back(std::move(slot));
    return static_cast<int>(plan_.slots.size()) - 1;
  }

  MemorySpace space_of(const PlanNode& node) const {
    return node.lane == Lane::download ? kHostSpace : devices_[node.device].space();
  }

  /// Returns the slot of a value. A known value has a slot in every memory where it is read.
  int slot_of(ValueId value, MemorySpace reader = kHostSpace);

  void set_slot(ValueId value, int slot) { slots_[{value, space_of(graph_.node(value))}] = slot; }

  /// Adds a slot for the storage of a variable or replica.
  int storage_slot(int root, const OutputSpec& spec) {
    Slot slot;
    slot.kind = Slot::Kind::variable;
    slot.index = variable_index(root);
    slot.desc = {spec.dtype, spec.shape, space_of(graph_.nodes[static_cast<std::size_t>(root)])};
    return add_slot(std::move(slot));
  }

  int variable_index(int root);

  // --- nodes -----------------------------------------------------------------------------------

  void lower_node(int id);

  bool can_alias_input(int id);

  /// Returns whether a view is the variable's own read, `w/read`, which has the variable's value
  /// when each consumer runs. A read with control inputs, and every view of it, has the value at
  /// its own position in the order. So does an own read with a consumer that writes the variable,
  /// which must not see its own writes.
  bool is_read_at_consumers(int root, int view) const;

  /// Passes the dependencies of a node without an instruction on to its consumers. Several
  /// dependencies are combined in one join, so that they are not repeated for each consumer.
  void forward_dependencies(int id);

  /// Returns the drafts of a node's inputs and control inputs, which its own draft must wait for.
  std::vector<int> dependencies_of(const PlanNode& node) const {
    std::vector<int> before;
    const auto add = [&](int behind) {
      const int draft = after_[static_cast<std::size_t>(behind)];
      if (draft >= 0) before.push_back(draft);
    };
    for (ValueId input : node.inputs) add(input.node);
    for (int control : node.control) add(control);
    for (const Guard guard : node.guards) add(guard.pred);
    make_unique(before);
    return before;
  }

  static void make_unique(std::vector<int>& drafts) {
    std::sort(drafts.begin(), drafts.end());
    drafts.erase(std::unique(drafts.begin(), drafts.end()), drafts.end());
  }

  /// Emits a copy between memories. A replica is only refreshed if the variable has changed.
  void emit_copy(int id);

  /// Returns the slot from which a copy engine reads a value. Fed values and others in Arrays are
  /// in memory that the engine may not reach, so they are copied to the frame's memory first.
  int staged(ValueId value);

  /// Adds a draft that copies within host memory; returns its number.
  int add_host_copy(ValueId value, int from, int to) {
    const PlanNode& node = graph_.node(value);
    const int at = devices_[node.device].on_host() ? node.device : devices_.host();
    return add_copy(value, from, to, at, node, node.guards);
  }

  /// Adds a draft that copies a value within the memory of a device, for `node`, under conditions;
  /// returns its number.
  int add_copy(ValueId value, int from, int to, int at, const PlanNode& node, const Guards& guards);

  void add_guards(const Guards& guards, Draft& draft);

  /// Emits a copy of each input of a Merge, of which the one whose branch is taken runs.
  void emit_merge(int id);

  bool is_read(ValueId value) const;

  /// Emits a loop. It reads its feeds from slots; its plans refer to variables by name.
  void emit_loop(int id);

  void emit_launch(int id);

  /// Lets objects of the run share the Arrays of operands that an instruction keeps or gives.
  void share_arrays(Instruction& instruction);

  /// Has the inputs of an instruction computed in memory of its kernel, if that has some.
  void use_input_memory(const Instruction& instruction);

  Cost cost_of_node(const PlanNode& node) const { return cost_in(graph_, node); }
  /// Returns the slot of an output; one that refers to a variable (Assign) is the variable's
  /// storage.
  int output_slot(int id, int output);

  void collect_variables(const PlanNode& node, Instruction& made);

  // --- order -----------------------------------------------------------------------------------

  void place_draft(int id, Draft draft);

  /// Orders accesses to variables: reads after the last write, writes also after the reads since.
  void order_variables(Draft& draft, int number);

  /// Returns the states that a node uses. Stateful ops on one queue or reader keep their tape
  /// order, and so do ops on files.
  std::vector<int> states_of(const PlanNode& node) const;

  // --- results ---------------------------------------------------------------------------------

  void lower_fetches();

  /// Adds a copy of a value whose memory does not belong to the run, as its result. A variable is
  /// copied after its last write.
  int copy_for_fetch(ValueId fetch, int slot);

  /// Returns the slot whose memory a slot uses.
  int memory_of(int slot) const {
    const auto it = view_of_.find(slot);
    return it == view_of_.end() ? slot : it->second;
  }

  /// Gives each view the kind and index of the slot whose memory it uses.
  void resolve_views();

  const PlanGraph& graph_;
  const DeviceSet& devices_;
  KernelCache& kernels_;
  const bool nested_;
  const int worker_;
  Plan& plan_;
  const std::set<ValueId> fetched_;

  std::vector<int> last_use_;                // per node: the last node that reads it
  std::vector<int> storages_;                // per node: see find_storages
  std::map<int, std::vector<int>> writers_;  // per storage root: nodes that write it, in order
  std::map<std::pair<ValueId, MemorySpace>, int> slots_;
  std::map<int, int> view_of_;        // view slot -> slot whose memory it uses
  std::set<int> staging_;             // host slots that copy engines read or write
  std::map<int, int> fetched_reads_;  // node of a variable's read -> slot of its value
  std::map<int, int> staged_arrays_;  // slot in an Array -> slot of its staged copy
  std::map<int, int> variables_;      // storage root -> index in the plan
  std::vector<Draft> drafts_;
  std::vector<int> after_;            // per node: the draft that its consumers wait for, or -1
  std::map<int, Accesses> accesses_;  // per variable of the plan
  std::map<int, int> last_stateful_;
};

}  // namespace towerflow
