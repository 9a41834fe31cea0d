// Passes 5 to 7: slots, kernels, instructions.
#include <fmt/format.h>

#include <algorithm>

#include "core/graph/plan_loop.h"
#include "core/runtime/lowering.h"

namespace towerflow {

void Lowering::lower_fetches() {
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
                        at.kind == Slot::Kind::boxed || at.kind == Slot::Kind::given ||
                        !taken.insert(root).second;
    plan_.fetches.push_back(shared ? copy_for_fetch(fetch, slot) : slot);
  }
  resolve_views();
}

int Lowering::copy_for_fetch(ValueId fetch, int slot) {
  Slot result;
  result.desc = plan_.slots[static_cast<std::size_t>(slot)].desc;
  result.kind = result.desc.shape.fully_known() ? Slot::Kind::output : Slot::Kind::late;
  const int out = add_slot(std::move(result));
  add_host_copy(fetch, slot, out);
  return out;
}

void Lowering::resolve_views() {
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

void Lowering::emit_launch(int id) {
  const PlanNode& node = graph_.nodes[static_cast<std::size_t>(id)];
  const Device& device = devices_[node.device];
  Draft draft{.device = node.device, .lane = node.lane};
  Instruction& made = draft.instruction;
  made.op = node.op;
  made.attrs = node.attrs;
  made.mirrors = node.mirrors;
  made.write = std::hash<std::string>{}(node.origin->name);
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
  share_arrays(made);
  const auto has_unknown_shape = [&](int slot) {
    return !plan_.slots[static_cast<std::size_t>(slot)].desc.shape.fully_known();
  };
  KernelRequest request = kernel_request(graph_, node, device);
  // Each worker draws random numbers of its own.
  if (worker_ > 0 && node.op->effect == Effect::random) {
    request.node += fmt::format("/worker_{}", worker_);
  }
  made.state = request.node;
  made.late = std::any_of(made.inputs.begin(), made.inputs.end(), has_unknown_shape) ||
              std::any_of(made.outputs.begin(), made.outputs.end(), has_unknown_shape) ||
              request.values.size() < node.op->static_inputs.size();
  try {
    if (!made.late) made.kernel = kernels_.get(*made.entry, request);
  } catch (...) {
    rethrow_with(made.detail);
  }
  use_input_memory(made);
  collect_variables(node, made);
  draft.may_fail = made.late || made.kernel->may_fail();
  draft.writes = node.op->effect == Effect::writes_variable;
  made.cost = cost_of_node(node);
  draft.seconds = estimated_seconds(made.cost);
  // What only makes a handle starts work that goes on while others run.
  const bool starts = node.op->effect == Effect::stateful && node.outputs.size() == 1 &&
                      node.outputs[0].dtype == DType::resource;
  draft.urgent = node.urgent || starts;
  draft.meeting = node.meeting;
  place_draft(id, std::move(draft));
}

void Lowering::share_arrays(Instruction& instruction) {
  instruction.shares = !instruction.op->keeps.empty() || !instruction.op->gives.empty();
  const auto change = [&](int slot, Slot::Kind kind) {
    const int root = memory_of(slot);
    Slot& memory = plan_.slots[static_cast<std::size_t>(root)];
    if (memory.kind == Slot::Kind::arena && !staging_.contains(root)) memory.kind = kind;
  };
  for (const int input : instruction.op->keeps) {
    change(instruction.inputs[static_cast<std::size_t>(input)], Slot::Kind::output);
  }
  for (const int output : instruction.op->gives) {
    if (output == OpDef::kEach) {
      for (const int slot : instruction.outputs) change(slot, Slot::Kind::given);
    } else {
      change(instruction.outputs[static_cast<std::size_t>(output)], Slot::Kind::given);
    }
  }
}

void Lowering::use_input_memory(const Instruction& instruction) {
  if (instruction.kernel == nullptr || !instruction.kernel->has_input_memory()) return;
  InputMemory memory{instruction.kernel, {}};
  for (const int input : instruction.inputs) {
    const int root = memory_of(input);
    Slot& slot = plan_.slots[static_cast<std::size_t>(root)];
    const bool free = slot.kind == Slot::Kind::arena && !staging_.contains(root);
    if (free) slot.kind = Slot::Kind::given;
    memory.slots.push_back(free ? root : -1);
  }
  const bool any =
      std::any_of(memory.slots.begin(), memory.slots.end(), [](int slot) { return slot >= 0; });
  if (any) plan_.input_memories.push_back(std::move(memory));
}

void Lowering::emit_copy(int id) {
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
  // The copies of a mirrored variable are filled in the first run and then change with it. Taken
  // for a transfer of every run, the filling would be planned after others, and the tower would
  // begin only when their gradients have come.
  const bool once = node.replica && graph_.is_mirrored(graph_.root_variable(node.inputs[0]));
  draft.seconds = once ? 0 : device.backend->pace(device.index).copy_seconds(out.bytes());
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

int Lowering::staged(ValueId value) {
  const int slot = slot_of(value);
  const Slot& memory = plan_.slots[static_cast<std::size_t>(memory_of(slot))];
  const Slot::Kind kind = memory.kind;
  const bool in_array = kind == Slot::Kind::feed || kind == Slot::Kind::output ||
                        kind == Slot::Kind::given || kind == Slot::Kind::constant;
  if (!in_array || memory.desc.space != kHostSpace) {
    staging_.insert(memory_of(slot));
    return slot;
  }
  const auto [found, first] = staged_arrays_.emplace(slot, -1);
  if (!first) return found->second;
  Slot staging;
  staging.desc = plan_.slots[static_cast<std::size_t>(slot)].desc;
  found->second = add_slot(std::move(staging));
  after_[static_cast<std::size_t>(value.node)] = add_host_copy(value, slot, found->second);
  return found->second;
}

int Lowering::output_slot(int id, int output) {
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
  set_slot({id, output}, elsewhere ? slot_of({graph_.root_variable(node.inputs[0]), 0}) : written);
  return written;
}

void Lowering::collect_variables(const PlanNode& node, Instruction& made) {
  std::map<int, VariableUse> uses;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const int root = storage_of(node.inputs[i]);
    if (root < 0) continue;
    VariableUse& use = uses[variable_index(root)];
    use.variable = variable_index(root);
    const bool writes = contains_input(node.op->written, i);
    use.writes = use.writes || writes;
    // The node that is mirrored needs the value of the variable.
    const bool overwrites = writes && (node.op->overwrites || node.mirrors);
    if (overwrites || contains_input(node.op->maybe_uninitialized, i)) use.needs_value = false;
    if (!writes_replica(node, i)) continue;
    use.needs_value = false;  // filled or overwritten under the lock
    const int home = graph_.root_variable(node.inputs[i]), master = variable_index(home);
    uses[master] = {master, true, !node.op->overwrites};
    made.through.push_back(
        {master, use.variable, graph_.nodes[static_cast<std::size_t>(home)].device});
  }
  for (const auto& [index, use] : uses) made.variables.push_back(use);
}

void Lowering::place_draft(int id, Draft draft) {
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

void Lowering::order_variables(Draft& draft, int number) {
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

std::vector<int> Lowering::states_of(const PlanNode& node) const {
  const bool does_io = node.op->effect == Effect::io || (node.loop && node.loop->does_io);
  std::vector<int> states;
  if (does_io) states.push_back(static_cast<int>(graph_.nodes.size()));
  if (node.op->effect != Effect::stateful && !node.loop) return states;
  for (ValueId input : node.inputs) {
    if (graph_.spec(input).dtype == DType::resource) states.push_back(input.node);
  }
  return states;
}

bool Lowering::can_alias_input(int id) {
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

bool Lowering::is_read_at_consumers(int root, int view) const {
  const PlanNode& node = graph_.nodes[static_cast<std::size_t>(view)];
  if (!node.own_read) return false;
  const auto it = writers_.find(root);
  return it == writers_.end() ||
         std::none_of(it->second.begin(), it->second.end(), [&](int writer) {
           const auto& inputs = graph_.nodes[static_cast<std::size_t>(writer)].inputs;
           return std::find(inputs.begin(), inputs.end(), ValueId{view, 0}) != inputs.end();
         });
}

void Lowering::lower_node(int id) {
  const PlanNode& node = graph_.nodes[static_cast<std::size_t>(id)];
  if (node.feed >= 0) return;
  if (node.op->effect == Effect::variable) {
    if (!node.outputs[0].shape.fully_known()) {
      throw errors::InvalidArgumentError(
          fmt::format("variable '{}' has the shape {}, which is not fully known", node.origin->name,
                      node.outputs[0].shape.text()),
          {.site = node.origin->site, .node = node.origin->name, .op = node.op->name});
    }
    set_slot({id, 0}, storage_slot(id, node.outputs[0]));
    return;
  }
  if (is_copy_lane(node.lane)) {
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

void Lowering::find_storages() {
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

void Lowering::find_lifetimes() {
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

int Lowering::variable_index(int root) {
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

int Lowering::slot_of(ValueId value, MemorySpace reader) {
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

void Lowering::forward_dependencies(int id) {
  std::vector<int> before = dependencies_of(graph_.nodes[static_cast<std::size_t>(id)]);
  int& after = after_[static_cast<std::size_t>(id)];
  if (before.size() <= 1) {
    after = before.empty() ? -1 : before[0];
    return;
  }
  after = static_cast<int>(drafts_.size());
  drafts_.push_back({.after = std::move(before), .may_fail = false, .joins = true});
}

void lower(const PlanGraph& graph, const DeviceSet& devices, KernelCache& kernels,
           const CompileOptions& options, Plan& plan) {
  Lowering(graph, devices, kernels, options, plan).run();
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
