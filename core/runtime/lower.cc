#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/runtime/plan.h"

namespace towerflow {
namespace {

/// Turns the finished graph into slots and instruction lists.
class Lowering {
 public:
  Lowering(const PlanGraph& graph, const DeviceSet& devices, KernelCache& kernels, Plan& plan)
      : graph_(graph), devices_(devices), kernels_(kernels), plan_(plan) {}

  void run() {
    find_lifetimes();
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (!graph_.nodes[i].dead) lower_node(static_cast<int>(i));
    }
    lower_fetches();
  }

 private:
  /// A launched instruction: which queue, and which place in it.
  struct Place {
    int queue = -1;
    int index = -1;
    bool made() const { return queue >= 0; }
  };

  // --- which values look into a variable, and until when ---------------------------------------

  /// The node of the variable whose storage `value` is or looks into; -1 for none.
  int variable_root(ValueId value) const {
    const PlanNode& node = graph_.node(value);
    if (node.op->effect == Effect::variable) return value.node;
    const bool passes_on = node.op->view || graph_.spec(value).is_ref;
    if (passes_on && !node.inputs.empty() && !node.is_known(0))
      return variable_root(node.inputs[0]);
    return -1;
  }

  void find_lifetimes() {
    last_use_.assign(graph_.nodes.size(), 0);
    for (std::size_t i = graph_.nodes.size(); i-- > 0;) {
      const PlanNode& node = graph_.nodes[i];
      if (node.dead) continue;
      // A view is used for as long as what looks through it.
      const int used_until = std::max(static_cast<int>(i), last_use_[i]);
      for (ValueId input : node.inputs) {
        int& last = last_use_[static_cast<std::size_t>(input.node)];
        last = std::max(last, node.op->view ? used_until : static_cast<int>(i));
      }
      for (int input : node.op->written) {
        writers_[variable_root(node.inputs[static_cast<std::size_t>(input)])].push_back(
            static_cast<int>(i));
      }
    }
  }

  /// Whether the variable behind a view is written while the view is still looked through.
  bool written_under(int root, int view) const {
    const auto it = writers_.find(root);
    if (it == writers_.end()) return false;
    const int last = last_use_[static_cast<std::size_t>(view)];
    return std::any_of(it->second.begin(), it->second.end(),
                       [&](int writer) { return writer > view && writer <= last; });
  }

  // --- slots -----------------------------------------------------------------------------------

  int add_slot(Slot slot) {
    plan_.slots.push_back(std::move(slot));
    return static_cast<int>(plan_.slots.size()) - 1;
  }

  int slot_of(ValueId value) {
    const auto it = slots_.find(value);
    if (it != slots_.end()) return it->second;
    const PlanNode& node = graph_.node(value);
    const auto output = static_cast<std::size_t>(value.output);
    Slot slot;
    slot.desc = {node.outputs[output].dtype, node.outputs[output].shape, 0, kHostSpace};
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
    return slots_[value] = add_slot(std::move(slot));
  }

  int variable_index(int root) {
    const auto it = variables_.find(root);
    if (it != variables_.end()) return it->second;
    const PlanNode& node = graph_.nodes[static_cast<std::size_t>(root)];
    plan_.variables.push_back({node.origin->name, node.outputs[0].dtype, node.outputs[0].shape});
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
      Slot slot;
      slot.kind = Slot::Kind::variable;
      slot.index = variable_index(id);
      slot.desc = {node.outputs[0].dtype, node.outputs[0].shape, 0, kHostSpace};
      slots_[{id, 0}] = add_slot(std::move(slot));
      return;
    }
    const bool known = !node.outputs.empty() && node.is_known(0) && node.inputs.empty() &&
                       node.op->effect == Effect::pure;
    const bool only_order = node.outputs.empty() && node.op->effect == Effect::pure;
    if (known || only_order) {
      inherit_order(id);
      return;
    }
    if (node.op->view && can_look_through(id)) {
      Slot slot = plan_.slots[static_cast<std::size_t>(slot_of(node.inputs[0]))];
      slot.desc.shape = node.outputs[0].shape;
      view_of_[static_cast<int>(plan_.slots.size())] = slot_of(node.inputs[0]);
      slots_[{id, 0}] = add_slot(std::move(slot));
      inherit_order(id);
      return;
    }
    emit_launch(id);
  }

  bool can_look_through(int id) const {
    const PlanNode& node = graph_.nodes[static_cast<std::size_t>(id)];
    const OutputSpec& input = graph_.spec(node.inputs[0]);
    if (!node.outputs[0].shape.fully_known() || !input.shape.fully_known()) return false;
    if (input.dtype == DType::string) return false;
    const int root = variable_root(node.inputs[0]);
    if (root < 0) return true;
    if (graph_.is_fetched({id, 0})) return false;
    return !written_under(root, id) || read_where_used(root, id);
  }

  /// Whether a view is the variable's own read, `w/read`, which means the value at the place of
  /// each consumer. One that waits for something, and every view of it, means the value here; so
  /// does one whose consumer writes the variable, for it must not see its own writes.
  bool read_where_used(int root, int view) const {
    const PlanNode& node = graph_.nodes[static_cast<std::size_t>(view)];
    if (!graph_.spec(node.inputs[0]).is_ref || !node.control.empty()) return false;
    const auto it = writers_.find(root);
    return it == writers_.end() ||
           std::none_of(it->second.begin(), it->second.end(), [&](int writer) {
             const auto& inputs = graph_.nodes[static_cast<std::size_t>(writer)].inputs;
             return std::find(inputs.begin(), inputs.end(), ValueId{view, 0}) != inputs.end();
           });
  }

  /// A node without an instruction passes on what its consumers must wait for.
  void inherit_order(int id) {
    std::vector<Place>& after = after_[id];
    const PlanNode& node = graph_.nodes[static_cast<std::size_t>(id)];
    for (ValueId input : node.inputs) append(after, after_[input.node]);
    for (int control : node.control) append(after, after_[control]);
  }

  /// Adds places to wait for; of one queue only the latest counts, since queues run in order.
  static void append(std::vector<Place>& to, const std::vector<Place>& from) {
    for (const Place& place : from) {
      const auto same = std::find_if(
          to.begin(), to.end(), [&](const Place& other) { return other.queue == place.queue; });
      if (same == to.end())
        to.push_back(place);
      else
        same->index = std::max(same->index, place.index);
    }
  }

  void emit_launch(int id) {
    const PlanNode& node = graph_.nodes[static_cast<std::size_t>(id)];
    const Device& device = devices_[node.device];
    Instruction made;
    made.op = node.op;
    made.attrs = node.attrs;
    made.detail = {.site = node.origin->site,
                   .node = node.origin->name,
                   .op = node.op->name,
                   .device = device.name};
    for (ValueId input : node.inputs) made.inputs.push_back(slot_of(input));
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      made.outputs.push_back(output_slot(id, static_cast<int>(i)));
    }
    const auto shape_open = [&](int slot) {
      return !plan_.slots[static_cast<std::size_t>(slot)].desc.shape.fully_known();
    };
    made.entry = &kernel_for(graph_, node, device);
    const KernelRequest request = kernel_request(graph_, node, device.backend->space(device.index));
    made.state = request.node;
    made.late = std::any_of(made.inputs.begin(), made.inputs.end(), shape_open) ||
                std::any_of(made.outputs.begin(), made.outputs.end(), shape_open) ||
                request.values.size() < node.op->static_inputs.size();
    try {
      if (!made.late) made.kernel = kernels_.get(*made.entry, request);
    } catch (...) {
      rethrow_with(made.detail);
    }
    collect_variables(node, made);
    place_instruction(id, std::move(made));
  }

  /// An output of an op that refers to a variable's storage (Assign) is that storage.
  int output_slot(int id, int output) {
    const PlanNode& node = graph_.nodes[static_cast<std::size_t>(id)];
    if (!node.outputs[static_cast<std::size_t>(output)].is_ref) return slot_of({id, output});
    return slots_[{id, output}] = slot_of(node.inputs[0]);
  }

  void collect_variables(const PlanNode& node, Instruction& made) {
    std::map<int, VariableUse> uses;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const int root = variable_root(node.inputs[i]);
      if (root < 0) continue;
      VariableUse& use = uses[variable_index(root)];
      use.variable = variable_index(root);
      const auto listed = [i](const std::vector<int>& inputs) {
        return std::find(inputs.begin(), inputs.end(), static_cast<int>(i)) != inputs.end();
      };
      const bool writes = listed(node.op->written);
      use.writes = use.writes || writes;
      if ((writes && node.op->overwrites) || listed(node.op->maybe_unset)) use.needs_value = false;
    }
    for (const auto& [index, use] : uses) made.variables.push_back(use);
  }

  // --- order -----------------------------------------------------------------------------------

  int queue_of(int device) {
    for (std::size_t i = 0; i < plan_.queues.size(); ++i) {
      if (plan_.queues[i].device == device) return static_cast<int>(i);
    }
    plan_.queues.push_back({device, {}});
    return static_cast<int>(plan_.queues.size()) - 1;
  }

  void place_instruction(int id, Instruction made) {
    const PlanNode& node = graph_.nodes[static_cast<std::size_t>(id)];
    std::vector<Place> before;
    for (ValueId input : node.inputs) append(before, after_[input.node]);
    for (int control : node.control) append(before, after_[control]);
    for (const VariableUse& use : made.variables) {
      const Place& writer = last_writer_[use.variable];
      if (writer.made()) append(before, {writer});
      if (use.writes) append(before, readers_[use.variable]);
    }
    const std::vector<int> states = states_of(node);
    for (int state : states) {
      if (last_stateful_[state].made()) append(before, {last_stateful_[state]});
    }

    const int queue = queue_of(node.device);
    wait_for(queue, before);
    auto& instructions = plan_.queues[static_cast<std::size_t>(queue)].instructions;
    const Place place{queue, static_cast<int>(instructions.size())};
    for (const VariableUse& use : made.variables) {
      if (use.writes) {
        last_writer_[use.variable] = place;
        readers_[use.variable].clear();
      } else {
        append(readers_[use.variable], {place});
      }
    }
    for (int state : states) last_stateful_[state] = place;
    instructions.push_back(std::move(made));
    after_[id] = {place};
  }

  /// Stateful ops on one queue or reader keep their order on the tape, and so do those on files.
  std::vector<int> states_of(const PlanNode& node) const {
    if (node.op->effect == Effect::io) return {static_cast<int>(graph_.nodes.size())};
    std::vector<int> states;
    if (node.op->effect != Effect::stateful) return states;
    for (ValueId input : node.inputs) {
      if (graph_.spec(input).dtype == DType::resource) states.push_back(input.node);
    }
    return states;
  }

  /// Makes `queue` wait for instructions of other queues, each at most once.
  void wait_for(int queue, const std::vector<Place>& places) {
    for (const auto& [other, index] : places) {
      if (other == queue) continue;
      const auto waited = waited_.find({queue, other});
      if (waited != waited_.end() && waited->second >= index) continue;
      waited_[{queue, other}] = index;
      Instruction wait;
      wait.kind = Instruction::Kind::wait;
      wait.event = event_after({other, index});
      plan_.queues[static_cast<std::size_t>(queue)].instructions.push_back(std::move(wait));
    }
  }

  int event_after(Place place) {
    const auto [it, added] = events_.emplace(std::pair(place.queue, place.index), plan_.events);
    if (added) ++plan_.events;
    return it->second;
  }

  // --- results ---------------------------------------------------------------------------------

  void lower_fetches() {
    std::set<int> taken;
    for (ValueId fetch : graph_.fetches) {
      if (fetch.node < 0) {
        plan_.fetches.push_back(-1);
        continue;
      }
      const int slot = slot_of(fetch);
      int root = slot;
      while (view_of_.contains(root)) root = view_of_[root];
      Slot& at = plan_.slots[static_cast<std::size_t>(root)];
      const bool own = at.kind == Slot::Kind::arena || at.kind == Slot::Kind::output;
      if (own) at.kind = Slot::Kind::output;
      const bool shared = at.kind == Slot::Kind::constant || at.kind == Slot::Kind::variable ||
                          at.kind == Slot::Kind::boxed || !taken.insert(root).second;
      plan_.fetches.push_back(shared ? copy_for_fetch(fetch, slot) : slot);
    }
    record_events();
    resolve_views();
  }

  /// A value that is not the run's own is copied out: a variable after everything else.
  int copy_for_fetch(ValueId fetch, int slot) {
    const PlanNode& node = graph_.node(fetch);
    const Device& device = devices_[node.device];
    static const OpDef& identity = OpRegistry::global().get("Identity");
    Slot result;
    result.desc = plan_.slots[static_cast<std::size_t>(slot)].desc;
    const bool late = !result.desc.shape.fully_known();
    result.kind = late ? Slot::Kind::late : Slot::Kind::output;
    Instruction copy;
    copy.op = &identity;
    copy.detail = {.site = node.origin->site,
                   .node = node.origin->name,
                   .op = node.op->name,
                   .device = device.name};
    KernelRequest request{&identity, &copy.attrs, {result.desc}, {result.desc}, {}, ""};
    copy.entry = device.backend->find_kernel(request);
    copy.late = late;
    if (!late) copy.kernel = kernels_.get(*copy.entry, request);
    copy.inputs = {slot};
    copy.outputs = {add_slot(result)};
    std::vector<Place> before = after_[fetch.node];
    const int root = variable_root(fetch);
    if (root >= 0) {
      const int variable = variable_index(root);
      copy.variables = {{variable, false, true}};
      if (last_writer_[variable].made()) append(before, {last_writer_[variable]});
    }
    const int queue = queue_of(node.device);
    wait_for(queue, before);
    const int out = copy.outputs[0];
    plan_.queues[static_cast<std::size_t>(queue)].instructions.push_back(std::move(copy));
    return out;
  }

  /// Puts the records in; done last, since they shift the places of instructions.
  void record_events() {
    for (std::size_t queue = 0; queue < plan_.queues.size(); ++queue) {
      std::vector<Instruction> out;
      auto& instructions = plan_.queues[queue].instructions;
      for (std::size_t i = 0; i < instructions.size(); ++i) {
        out.push_back(std::move(instructions[i]));
        const auto it = events_.find({static_cast<int>(queue), static_cast<int>(i)});
        if (it == events_.end()) continue;
        Instruction record;
        record.kind = Instruction::Kind::record;
        record.event = it->second;
        out.push_back(std::move(record));
      }
      instructions = std::move(out);
    }
  }

  /// Instructions and fetches name the slot that has the memory, not the view of it.
  void resolve_views() {
    const auto root = [&](int slot) {
      while (view_of_.contains(slot)) slot = view_of_[slot];
      return slot;
    };
    for (const auto& [view, of] : view_of_) {
      Slot& slot = plan_.slots[static_cast<std::size_t>(view)];
      const Slot& memory = plan_.slots[static_cast<std::size_t>(root(view))];
      slot.kind = memory.kind;
      slot.index = memory.index;
    }
    plan_.view_of.resize(plan_.slots.size());
    for (std::size_t i = 0; i < plan_.slots.size(); ++i) {
      plan_.view_of[i] = root(static_cast<int>(i));
    }
  }

  const PlanGraph& graph_;
  const DeviceSet& devices_;
  KernelCache& kernels_;
  Plan& plan_;

  std::vector<int> last_use_;                // per node: the last node that reads it
  std::map<int, std::vector<int>> writers_;  // per variable node: nodes that write it
  std::map<ValueId, int> slots_;
  std::map<int, int> view_of_;
  std::map<int, int> variables_;  // variable node -> index in the plan
  std::map<int, std::vector<Place>> after_;
  std::map<int, Place> last_writer_;
  std::map<int, std::vector<Place>> readers_;
  std::map<int, Place> last_stateful_;
  std::map<std::pair<int, int>, int> waited_;  // (queue, other queue) -> place waited for
  std::map<std::pair<int, int>, int> events_;  // (queue, place) -> event
};

}  // namespace

void lower(const PlanGraph& graph, const DeviceSet& devices, KernelCache& kernels,
           const PassOptions& options, Plan& plan) {
  Lowering(graph, devices, kernels, plan).run();
  for (const QueueProgram& queue : plan.queues) {
    for (const Instruction& instruction : queue.instructions) {
      plan.max_operands =
          std::max({plan.max_operands, instruction.inputs.size(), instruction.outputs.size()});
    }
  }
  assign_memory(plan, options.reuse_buffers);
}

}  // namespace towerflow
