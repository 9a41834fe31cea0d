#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/runtime/loop_plan.h"

namespace towerflow {
namespace {

/// Converts the final graph into slots and instruction lists.
class Lowering {
 public:
  Lowering(const PlanGraph& graph, const DeviceSet& devices, KernelCache& kernels, bool nested,
           Plan& plan)
      : graph_(graph),
        devices_(devices),
        kernels_(kernels),
        nested_(nested),
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
    return contains_input(node.op->written, input) && graph_.node(node.inputs[input]).replica;
  }

  /// Finds the storage of each node: its own, else the one behind its first input.
  void find_storages() {
    std::map<std::pair<int, MemorySpace>, int> replicas;  // (variable, memory) -> first fill
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const PlanNode& node = graph_.nodes[i];
      int storage = -1;
      if (node.op->effect == Effect::variable) {
        storage = static_cast<int>(i);
      } else if (node.replica && !node.dead) {
        const std::pair key(graph_.root_variable(node.inputs[0]), space_of(node));
        storage = replicas.emplace(key, static_cast<int>(i)).first->second;
      } else if (!node.inputs.empty()) {
        // An op that writes a replica still refers to the variable itself.
        storage = writes_replica(node, 0) ? graph_.root_variable(node.inputs[0])
                                          : storage_of(node.inputs[0]);
      }
      storages_.push_back(storage);
    }
  }

  void find_lifetimes() {
    last_use_.assign(graph_.nodes.size(), 0);
    for (std::size_t i = graph_.nodes.size(); i-- > 0;) {
      const PlanNode& node = graph_.nodes[i];
      if (node.dead) continue;
      // A view is used as long as the nodes that read through it.
      const int used_until = std::max(static_cast<int>(i), last_use_[i]);
      for (ValueId input : node.inputs) {
        int& last = last_use_[static_cast<std::size_t>(input.node)];
        last = std::max(last, node.op->view ? used_until : static_cast<int>(i));
      }
    }
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const PlanNode& node = graph_.nodes[i];
      if (node.dead) continue;
      for (int input : node.op->written) {
        const ValueId ref = node.inputs[static_cast<std::size_t>(input)];
        writers_[storage_of(ref)].push_back(static_cast<int>(i));
        if (writes_replica(node, static_cast<std::size_t>(input))) {
          writers_[graph_.root_variable(ref)].push_back(static_cast<int>(i));
        }
      }
      if (node.replica) writers_[storages_[i]].push_back(static_cast<int>(i));
    }
  }

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
  int slot_of(ValueId value, MemorySpace reader = kHostSpace) {
    const PlanNode& node = graph_.node(value);
    const auto output = static_cast<std::size_t>(value.output);
    const MemorySpace space = node.is_known(output) ? reader : space_of(node);
    const auto it = slots_.find({value, space});
    if (it != slots_.end()) return it->second;
    Slot slot;
    slot.desc = {node.outputs[output].dtype, node.outputs[output].shape, space};
    if (node.is_known(output)) {
      slot.kind = Slot::Kind::constant;
      slot.index = static_cast<int>(plan_.constants.size());
      plan_.constants.push_back(node.values[output]);
    } else if (node.feed >= 0) {
      slot.kind = Slot::Kind::feed;
      slot.index = node.feed;
    } else if (!slot.desc.shape.fully_known()) {
      slot.kind = Slot::Kind::late;
    } else if (slot.desc.dtype == DType::string) {
      slot.kind = Slot::Kind::boxed;
    }
    return slots_[{value, space}] = add_slot(std::move(slot));
  }

  void set_slot(ValueId value, int slot) { slots_[{value, space_of(graph_.node(value))}] = slot; }

  /// Adds a slot for the storage of a variable or replica.
  int storage_slot(int root, const OutputSpec& spec) {
    Slot slot;
    slot.kind = Slot::Kind::variable;
    slot.index = variable_index(root);
    slot.desc = {spec.dtype, spec.shape, space_of(graph_.nodes[static_cast<std::size_t>(root)])};
    return add_slot(std::move(slot));
  }

  int variable_index(int root) {
    const auto it = variables_.find(root);
    if (it != variables_.end()) return it->second;
    const PlanNode& node = graph_.nodes[static_cast<std::size_t>(root)];
    const int named = graph_.root_variable({root, 0});
    const bool on_host = node.replica && space_of(node) == kHostSpace;
    plan_.variables.push_back({.name = graph_.nodes[static_cast<std::size_t>(named)].origin->name,
                               .dtype = node.outputs[0].dtype,
                               .shape = node.outputs[0].shape,
                               .device = on_host ? devices_.host() : node.device,
                               .replica = node.replica,
                               .staging = on_host ? node.device : -1});
    return variables_[root] = static_cast<int>(plan_.variables.size()) - 1;
  }

  // --- nodes -----------------------------------------------------------------------------------

  void lower_node(int id) {
    const PlanNode& node = graph_.nodes[static_cast<std::size_t>(id)];
    if (node.feed >= 0) return;
    if (node.op->effect == Effect::variable) {
      if (!node.outputs[0].shape.fully_known()) {
        throw errors::InvalidArgumentError(
            fmt::format("variable '{}' has the shape {}, which is not fully known",
                        node.origin->name, node.outputs[0].shape.text()),
            {.site = node.origin->site, .node = node.origin->name, .op = node.op->name});
      }
      set_slot({id, 0}, storage_slot(id, node.outputs[0]));
      return;
    }
    if (node.lane != Lane::compute) {
      emit_copy(id);
      return;
    }
    const bool known = node.op->effect == Effect::pure && !node.outputs.empty() &&
                       node.values.size() == node.outputs.size() &&
                       std::all_of(node.values.begin(), node.values.end(),
                                   [](const Array& value) { return !value.empty(); });
    const bool only_order = node.outputs.empty() && node.op->effect == Effect::pure;
    if (known || only_order) {
      forward_dependencies(id);
      return;
    }
    if (node.is_merge()) return emit_merge(id);
    if (node.loop) return emit_loop(id);
    if (node.op->view && can_alias_input(id)) {
      const int seen = slot_of(node.inputs[0], space_of(node));
      Slot slot = plan_.slots[static_cast<std::size_t>(seen)];
      slot.desc.shape = node.outputs[0].shape;
      view_of_[static_cast<int>(plan_.slots.size())] = memory_of(seen);
      set_slot({id, 0}, add_slot(std::move(slot)));
      forward_dependencies(id);
      // A fetched read of a variable has the variable's value here, even if others read it later.
      if (fetched_.contains({id, 0}) && storage_of({id, 0}) >= 0) {
        fetched_reads_[id] = copy_for_fetch({id, 0}, slot_of({id, 0}));
      }
      return;
    }
    emit_launch(id);
  }

  bool can_alias_input(int id) {
    const PlanNode& node = graph_.nodes[static_cast<std::size_t>(id)];
    const OutputSpec& input = graph_.spec(node.inputs[0]);
    if (!node.outputs[0].shape.fully_known() || !input.shape.fully_known()) return false;
    if (input.dtype == DType::string || node.must_run) return false;
    // The host reads the value of a condition without a lock.
    if (node.op->on_host && storage_of(node.inputs[0]) >= 0) return false;
    // set_shape may have declared a wrong shape, which the kernel detects when it copies.
    if (node.outputs[0].shape.elements() != input.shape.elements()) return false;
    // If the new shape is computed during the run, the kernel must check it.
    for (std::size_t i = 1; i < node.inputs.size(); ++i) {
      const ValueId value = node.inputs[i];
      if (!graph_.node(value).is_known(static_cast<std::size_t>(value.output))) return false;
    }
    const int root = storage_of(node.inputs[0]);
    if (root < 0) return true;
    if (fetched_.contains({id, 0}) && !node.own_read) return false;
    return !is_written_during_use(root, id) || is_read_at_consumers(root, id);
  }

  /// Returns whether a view is the variable's own read, `w/read`, which has the variable's value
  /// when each consumer runs. A read with control inputs, and every view of it, has the value at
  /// its own position in the order. So does an own read with a consumer that writes the variable,
  /// which must not see its own writes.
  bool is_read_at_consumers(int root, int view) const {
    const PlanNode& node = graph_.nodes[static_cast<std::size_t>(view)];
    if (!node.own_read) return false;
    const auto it = writers_.find(root);
    return it == writers_.end() ||
           std::none_of(it->second.begin(), it->second.end(), [&](int writer) {
             const auto& inputs = graph_.nodes[static_cast<std::size_t>(writer)].inputs;
             return std::find(inputs.begin(), inputs.end(), ValueId{view, 0}) != inputs.end();
           });
  }

  /// Passes the dependencies of a node without an instruction on to its consumers. Several
  /// dependencies are combined in one join, so that they are not repeated for each consumer.
  void forward_dependencies(int id) {
    std::vector<int> before = dependencies_of(graph_.nodes[static_cast<std::size_t>(id)]);
    int& after = after_[static_cast<std::size_t>(id)];
    if (before.size() <= 1) {
      after = before.empty() ? -1 : before[0];
      return;
    }
    after = static_cast<int>(drafts_.size());
    drafts_.push_back({.after = std::move(before), .may_fail = false, .joins = true});
  }

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
  void emit_copy(int id) {
    const PlanNode& node = graph_.nodes[static_cast<std::size_t>(id)];
    Draft draft{.device = node.device, .lane = node.lane, .may_fail = false};
    Instruction& copy = draft.instruction;
    copy.kind = node.replica ? Instruction::Kind::fill : Instruction::Kind::copy;
    copy.op = node.op;
    copy.detail = {.site = node.origin->site,
                   .node = node.origin->name,
                   .op = node.op->name,
                   .device = devices_[node.device].name};
    copy.inputs = {staged(node.inputs[0])};
    if (node.replica) set_slot({id, 0}, storage_slot(storage_of({id, 0}), node.outputs[0]));
    copy.outputs = {slot_of({id, 0})};
    if (node.lane == Lane::download) staging_.insert(copy.outputs[0]);
    const auto& out = plan_.slots[static_cast<std::size_t>(copy.outputs[0])].desc;
    const Device& device = devices_[node.device];
    draft.seconds = device.backend->pace(device.index).copy_seconds(out.bytes());
    copy.cost.bytes = static_cast<double>(out.bytes());
    std::map<int, VariableUse> uses;
    if (const int root = storage_of(node.inputs[0]); root >= 0) {
      uses[variable_index(root)] = {variable_index(root), false, !node.allows_uninitialized};
    }
    if (node.replica) {
      const int root = variable_index(storage_of({id, 0}));
      uses[root] = {root, true, false};
    }
    for (const auto& [index, use] : uses) copy.variables.push_back(use);
    place_draft(id, std::move(draft));
  }

  /// Returns the slot from which a copy engine reads a value. Fed values are in the caller's
  /// memory, which the engine may not reach, so they are copied to the frame's memory first.
  int staged(ValueId value) {
    const int slot = slot_of(value);
    if (plan_.slots[static_cast<std::size_t>(slot)].kind != Slot::Kind::feed) {
      staging_.insert(memory_of(slot));
      return slot;
    }
    const auto [found, first] = staged_feeds_.emplace(slot, -1);
    if (!first) return found->second;
    Slot staging;
    staging.desc = plan_.slots[static_cast<std::size_t>(slot)].desc;
    found->second = add_slot(std::move(staging));
    after_[static_cast<std::size_t>(value.node)] = add_host_copy(value, slot, found->second);
    return found->second;
  }

  /// Adds a draft that copies within host memory; returns its number.
  int add_host_copy(ValueId value, int from, int to) {
    const PlanNode& node = graph_.node(value);
    const int at = devices_[node.device].on_host() ? node.device : devices_.host();
    return add_copy(value, from, to, at, node, node.guards);
  }

  /// Adds a draft that copies a value within the memory of a device, for `node`, under conditions;
  /// returns its number.
  int add_copy(ValueId value, int from, int to, int at, const PlanNode& node,
               const Guards& guards) {
    const Device& device = devices_[at];
    static const OpDef& identity = OpRegistry::global().get("Identity");
    const TensorDesc desc = plan_.slots[static_cast<std::size_t>(from)].desc;
    Draft draft{.device = at};
    Instruction& copy = draft.instruction;
    copy.op = &identity;
    copy.detail = {.site = node.origin->site,
                   .node = node.origin->name,
                   .op = node.op->name,
                   .device = device.name};
    const TensorDesc& result = plan_.slots[static_cast<std::size_t>(to)].desc;
    KernelRequest request{&identity, &copy.attrs, {desc}, {result}, {}, ""};
    request.device = device.index;
    copy.entry = device.backend->find_kernel(request);
    copy.late = !desc.shape.fully_known() || !result.shape.fully_known();
    if (!copy.late) copy.kernel = kernels_.get(*copy.entry, request);
    draft.may_fail = copy.late || copy.kernel->may_fail();
    copy.inputs = {from};
    copy.outputs = {to};
    if (const int after = after_[static_cast<std::size_t>(value.node)]; after >= 0) {
      draft.after = {after};
    }
    const int number = static_cast<int>(drafts_.size());
    add_guards(guards, draft);
    if (const int root = storage_of(value); root >= 0) {
      copy.variables = {{variable_index(root), false, true}};
      order_variables(draft, number);
    }
    make_unique(draft.after);
    drafts_.push_back(std::move(draft));
    return number;
  }

  void add_guards(const Guards& guards, Draft& draft) {
    for (const Guard guard : guards) {
      draft.instruction.guards.push_back({slot_of({guard.pred, 0}), guard.branch});
      const int after = after_[static_cast<std::size_t>(guard.pred)];
      if (after >= 0) draft.after.push_back(after);
    }
  }

  /// Emits a copy of each input of a Merge, of which the one whose branch is taken runs.
  void emit_merge(int id) {
    const PlanNode& node = graph_.nodes[static_cast<std::size_t>(id)];
    const MemorySpace space = space_of(node);
    const int out = slot_of({id, 0});
    const int index = is_read({id, 1}) ? slot_of({id, 1}) : -1;
    std::vector<int> ends = dependencies_of(node);
    const auto add = [&](ValueId value, int from, int to, const Guards& guards) {
      const int number = add_copy(value, from, to, node.device, node, guards);
      auto& after = drafts_[static_cast<std::size_t>(number)].after;
      for (const int awaited : node.control) {
        const int draft = after_[static_cast<std::size_t>(awaited)];
        if (draft >= 0) after.push_back(draft);
      }
      make_unique(after);
      ends.push_back(number);
    };
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      add(node.inputs[i], slot_of(node.inputs[i], space), out, node.choices[i]);
      if (index < 0) continue;
      Slot chosen;
      chosen.kind = Slot::Kind::constant;
      chosen.desc = {DType::int32, Shape(), space};
      chosen.index = static_cast<int>(plan_.constants.size());
      Array value(DType::int32, Shape());
      *value.data<std::int32_t>() = static_cast<std::int32_t>(i);
      plan_.constants.push_back(std::move(value));
      add(node.inputs[i], add_slot(std::move(chosen)), index, node.choices[i]);
    }
    make_unique(ends);
    after_[static_cast<std::size_t>(id)] = static_cast<int>(drafts_.size());
    drafts_.push_back({.after = std::move(ends), .may_fail = false, .joins = true});
  }

  bool is_read(ValueId value) const {
    if (fetched_.contains(value)) return true;
    return std::any_of(graph_.nodes.begin(), graph_.nodes.end(), [&](const PlanNode& node) {
      return !node.dead &&
             std::find(node.inputs.begin(), node.inputs.end(), value) != node.inputs.end();
    });
  }

  /// Emits a loop. It reads its feeds from slots; its plans refer to variables by name.
  void emit_loop(int id) {
    const PlanNode& node = graph_.nodes[static_cast<std::size_t>(id)];
    const PlanLoop& loop = *node.loop;
    Draft draft{.device = node.device};
    Instruction& made = draft.instruction;
    made.kind = Instruction::Kind::loop;
    made.op = node.op;
    made.detail = {.site = node.origin->site,
                   .node = node.origin->name,
                   .op = node.op->name,
                   .device = devices_[node.device].name};
    made.loop = std::make_shared<LoopPlan>(node.loop);
    const bool refers = node.inputs.size() > loop.feeds.size();
    std::vector<int> copies;
    std::vector<VariableUse> read;  // locked while the loop runs
    for (std::size_t i = 0; i < loop.feeds.size(); ++i) {
      const ValueId value = node.inputs[i];
      int slot = slot_of(value);
      const int root = storage_of(value);
      if (root >= 0 && refers) {
        // The loop may change the variable: it gets the value from before.
        Slot copy;
        copy.desc = plan_.slots[static_cast<std::size_t>(slot)].desc;
        const int own = add_slot(std::move(copy));
        copies.push_back(add_copy(value, slot, own, node.device, node, node.guards));
        slot = own;
      } else if (root >= 0) {
        read.push_back({variable_index(root), false, true});
      }
      made.inputs.push_back(slot);
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      made.outputs.push_back(output_slot(id, static_cast<int>(i)));
    }
    collect_variables(node, made);
    draft.writes = node.op->effect == Effect::writes_variable;
    made.cost = cost_of_node(node);
    draft.seconds = estimated_seconds(made.cost);
    place_draft(id, std::move(draft));
    Draft& placed = drafts_.back();
    placed.after.insert(placed.after.end(), copies.begin(), copies.end());
    std::sort(read.begin(), read.end(),
              [](const VariableUse& a, const VariableUse& b) { return a.variable < b.variable; });
    read.erase(std::unique(read.begin(), read.end(),
                           [](const VariableUse& a, const VariableUse& b) {
                             return a.variable == b.variable;
                           }),
               read.end());
    placed.instruction.variables = std::move(read);
    placed.instruction.through.clear();
  }

  void emit_launch(int id) {
    const PlanNode& node = graph_.nodes[static_cast<std::size_t>(id)];
    const Device& device = devices_[node.device];
    Draft draft{.device = node.device};
    Instruction& made = draft.instruction;
    made.op = node.op;
    made.attrs = node.attrs;
    made.detail = {.site = node.origin->site,
                   .node = node.origin->name,
                   .op = node.op->name,
                   .device = device.name};
    made.entry = &kernel_for(graph_, node, device);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const bool on_host = made.entry->reads_on_host(static_cast<int>(i));
      made.inputs.push_back(slot_of(node.inputs[i], on_host ? kHostSpace : device.space()));
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      made.outputs.push_back(output_slot(id, static_cast<int>(i)));
    }
    const auto has_unknown_shape = [&](int slot) {
      return !plan_.slots[static_cast<std::size_t>(slot)].desc.shape.fully_known();
    };
    const KernelRequest request = kernel_request(graph_, node, device);
    made.state = request.node;
    made.late = std::any_of(made.inputs.begin(), made.inputs.end(), has_unknown_shape) ||
                std::any_of(made.outputs.begin(), made.outputs.end(), has_unknown_shape) ||
                request.values.size() < node.op->static_inputs.size();
    try {
      if (!made.late) made.kernel = kernels_.get(*made.entry, request);
    } catch (...) {
      rethrow_with(made.detail);
    }
    collect_variables(node, made);
    draft.may_fail = made.late || made.kernel->may_fail();
    draft.writes = node.op->effect == Effect::writes_variable;
    made.cost = cost_of_node(node);
    draft.seconds = estimated_seconds(made.cost);
    place_draft(id, std::move(draft));
  }

  Cost cost_of_node(const PlanNode& node) const {
    std::vector<OutputSpec> inputs;
    for (ValueId input : node.inputs) inputs.push_back(graph_.spec(input));
    return cost_of(*node.op, inputs, node.outputs);
  }

  /// Estimates the time from flops and bytes at typical rates of one core, for the order in queues.
  static double estimated_seconds(const Cost& cost) {
    constexpr double kLaunch = 1e-6, kFlopsPerSecond = 50e9, kBytesPerSecond = 10e9;
    return kLaunch + cost.flops / kFlopsPerSecond + cost.bytes / kBytesPerSecond;
  }

  /// Returns the slot of an output; one that refers to a variable (Assign) is the variable's
  /// storage.
  int output_slot(int id, int output) {
    const PlanNode& node = graph_.nodes[static_cast<std::size_t>(id)];
    const OutputSpec& spec = node.outputs[static_cast<std::size_t>(output)];
    if (node.is_known(static_cast<std::size_t>(output))) {
      // Readers already have the value; the kernel writes to memory that nobody reads.
      Slot unread;
      unread.desc = {spec.dtype, spec.shape, space_of(node)};
      if (spec.dtype == DType::string) unread.kind = Slot::Kind::boxed;
      return add_slot(std::move(unread));
    }
    if (!spec.is_ref) return slot_of({id, output});
    const int written = slot_of(node.inputs[0]);
    const bool elsewhere = writes_replica(node, 0);
    set_slot({id, output},
             elsewhere ? slot_of({graph_.root_variable(node.inputs[0]), 0}) : written);
    return written;
  }

  void collect_variables(const PlanNode& node, Instruction& made) {
    std::map<int, VariableUse> uses;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const int root = storage_of(node.inputs[i]);
      if (root < 0) continue;
      VariableUse& use = uses[variable_index(root)];
      use.variable = variable_index(root);
      const bool writes = contains_input(node.op->written, i);
      use.writes = use.writes || writes;
      if ((writes && node.op->overwrites) || contains_input(node.op->maybe_uninitialized, i)) {
        use.needs_value = false;
      }
      if (!writes_replica(node, i)) continue;
      use.needs_value = false;  // filled or overwritten under the lock
      const int home = graph_.root_variable(node.inputs[i]), master = variable_index(home);
      uses[master] = {master, true, !node.op->overwrites};
      made.through.push_back(
          {master, use.variable, graph_.nodes[static_cast<std::size_t>(home)].device});
    }
    for (const auto& [index, use] : uses) made.variables.push_back(use);
  }

  // --- order -----------------------------------------------------------------------------------

  void place_draft(int id, Draft draft) {
    const PlanNode& node = graph_.nodes[static_cast<std::size_t>(id)];
    const auto number = static_cast<int>(drafts_.size());
    draft.after = dependencies_of(node);
    add_guards(node.guards, draft);
    draft.instruction.must_run = node.must_run;
    order_variables(draft, number);
    for (int state : states_of(node)) {
      const auto [last, first] = last_stateful_.emplace(state, -1);
      if (!first) draft.after.push_back(last->second);
      last->second = number;
    }
    make_unique(draft.after);
    after_[static_cast<std::size_t>(id)] = number;
    drafts_.push_back(std::move(draft));
  }

  /// Orders accesses to variables: reads after the last write, writes also after the reads since.
  void order_variables(Draft& draft, int number) {
    for (const VariableUse& use : draft.instruction.variables) {
      Accesses& accesses = accesses_[use.variable];
      if (accesses.writer >= 0) draft.after.push_back(accesses.writer);
      if (use.writes) {
        draft.after.insert(draft.after.end(), accesses.readers.begin(), accesses.readers.end());
        accesses = {number, {}};
      } else {
        accesses.readers.push_back(number);
      }
    }
  }

  /// Returns the states that a node uses. Stateful ops on one queue or reader keep their tape
  /// order, and so do ops on files.
  std::vector<int> states_of(const PlanNode& node) const {
    const bool does_io = node.op->effect == Effect::io || (node.loop && node.loop->does_io);
    std::vector<int> states;
    if (does_io) states.push_back(static_cast<int>(graph_.nodes.size()));
    if (node.op->effect != Effect::stateful && !node.loop) return states;
    for (ValueId input : node.inputs) {
      if (graph_.spec(input).dtype == DType::resource) states.push_back(input.node);
    }
    return states;
  }

  // --- results ---------------------------------------------------------------------------------

  void lower_fetches() {
    std::set<int> taken;
    for (ValueId fetch : graph_.fetches) {
      if (fetch.node < 0) {
        plan_.fetches.push_back(-1);
        continue;
      }
      if (const auto read = fetched_reads_.find(fetch.node); read != fetched_reads_.end()) {
        const bool again = !taken.insert(read->second).second;
        plan_.fetches.push_back(again ? copy_for_fetch(fetch, read->second) : read->second);
        continue;
      }
      const int slot = slot_of(fetch);
      const int root = memory_of(slot);
      Slot& at = plan_.slots[static_cast<std::size_t>(root)];
      const bool staging = staging_.contains(root);
      const bool own = at.kind == Slot::Kind::arena || at.kind == Slot::Kind::output;
      if (own && !staging) at.kind = Slot::Kind::output;
      const bool shared = staging || at.kind == Slot::Kind::constant ||
                          at.kind == Slot::Kind::variable || at.kind == Slot::Kind::feed ||
                          at.kind == Slot::Kind::boxed || !taken.insert(root).second;
      plan_.fetches.push_back(shared ? copy_for_fetch(fetch, slot) : slot);
    }
    resolve_views();
  }

  /// Adds a copy of a value whose memory does not belong to the run, as its result. A variable is
  /// copied after its last write.
  int copy_for_fetch(ValueId fetch, int slot) {
    Slot result;
    result.desc = plan_.slots[static_cast<std::size_t>(slot)].desc;
    result.kind = result.desc.shape.fully_known() ? Slot::Kind::output : Slot::Kind::late;
    const int out = add_slot(std::move(result));
    add_host_copy(fetch, slot, out);
    return out;
  }

  /// Returns the slot whose memory a slot uses.
  int memory_of(int slot) const {
    const auto it = view_of_.find(slot);
    return it == view_of_.end() ? slot : it->second;
  }

  /// Gives each view the kind and index of the slot whose memory it uses.
  void resolve_views() {
    for (const auto& [view, of] : view_of_) {
      Slot& slot = plan_.slots[static_cast<std::size_t>(view)];
      const Slot& memory = plan_.slots[static_cast<std::size_t>(of)];
      slot.kind = memory.kind;
      slot.index = memory.index;
    }
    plan_.view_of.resize(plan_.slots.size());
    for (std::size_t i = 0; i < plan_.slots.size(); ++i) {
      plan_.view_of[i] = memory_of(static_cast<int>(i));
    }
  }

  const PlanGraph& graph_;
  const DeviceSet& devices_;
  KernelCache& kernels_;
  const bool nested_;
  Plan& plan_;
  const std::set<ValueId> fetched_;

  std::vector<int> last_use_;                // per node: the last node that reads it
  std::vector<int> storages_;                // per node: see find_storages
  std::map<int, std::vector<int>> writers_;  // per storage root: nodes that write it, in order
  std::map<std::pair<ValueId, MemorySpace>, int> slots_;
  std::map<int, int> view_of_;        // view slot -> slot whose memory it uses
  std::set<int> staging_;             // host slots that copy engines read or write
  std::map<int, int> fetched_reads_;  // node of a variable's read -> slot of its value
  std::map<int, int> staged_feeds_;   // slot of a feed -> slot of its staged copy
  std::map<int, int> variables_;      // storage root -> index in the plan
  std::vector<Draft> drafts_;
  std::vector<int> after_;            // per node: the draft that its consumers wait for, or -1
  std::map<int, Accesses> accesses_;  // per variable of the plan
  std::map<int, int> last_stateful_;
};

}  // namespace

void lower(const PlanGraph& graph, const DeviceSet& devices, KernelCache& kernels,
           const CompileOptions& options, Plan& plan) {
  Lowering(graph, devices, kernels, options.nested, plan).run();
  for (QueueProgram& queue : plan.queues) {
    for (Instruction& instruction : queue.instructions) {
      std::sort(instruction.variables.begin(), instruction.variables.end(),
                [&](const VariableUse& a, const VariableUse& b) {
                  return plan.locked_before(a.variable, b.variable);
                });
      plan.max_operands =
          std::max({plan.max_operands, instruction.inputs.size(), instruction.outputs.size()});
    }
  }
  assign_memory(plan, devices, options.passes.reuse_buffers);
}

}  // namespace towerflow
