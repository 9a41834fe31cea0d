// Branches and loops as instructions.
#include <algorithm>

#include "core/runtime/loop_plan.h"
#include "core/runtime/lowering.h"

namespace towerflow {

/// Estimates the time of a loop. The number of its iterations is not known yet.
static double seconds_of_loop(const PlanLoop& loop) {
  // Only the order of magnitude counts: if a loop seemed to take no time, what waits for it on
  // another queue would come before work that is ready.
  constexpr double kIterations = 20;
  double seconds = 0;
  for (const PlanNode& node : loop.body.nodes) {
    if (node.dead || node.feed >= 0 || node.op->effect == Effect::variable) continue;
    seconds +=
        node.loop ? seconds_of_loop(*node.loop) : estimated_seconds(cost_in(loop.body, node));
  }
  return kIterations * seconds;
}

int Lowering::add_copy(ValueId value, int from, int to, int at, const PlanNode& node,
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

void Lowering::add_guards(const Guards& guards, Draft& draft) {
  for (const Guard guard : guards) {
    draft.instruction.guards.push_back({slot_of({guard.pred, 0}), guard.branch});
    const int after = after_[static_cast<std::size_t>(guard.pred)];
    if (after < 0) continue;
    draft.after.push_back(after);
    draft.read_by_host.push_back(after);
  }
}

void Lowering::emit_merge(int id) {
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

bool Lowering::is_read(ValueId value) const {
  if (fetched_.contains(value)) return true;
  return std::any_of(graph_.nodes.begin(), graph_.nodes.end(), [&](const PlanNode& node) {
    return !node.dead &&
           std::find(node.inputs.begin(), node.inputs.end(), value) != node.inputs.end();
  });
}

void Lowering::emit_loop(int id) {
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
  draft.seconds = seconds_of_loop(loop);
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

}  // namespace towerflow
