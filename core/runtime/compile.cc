#include <fmt/format.h>

#include <algorithm>

#include "core/runtime/plan.h"

namespace towerflow {

std::shared_ptr<const PreparedKernel> KernelCache::get(const KernelEntry& entry,
                                                       const KernelRequest& request) {
  std::lock_guard lock(mutex_);
  std::vector<Item>& items = items_[&entry];
  for (const Item& item : items) {
    if (item.inputs == request.inputs && item.outputs == request.outputs &&
        item.values == request.values && item.node == request.node &&
        item.attrs == *request.attrs) {
      return item.kernel;
    }
  }
  std::shared_ptr<const PreparedKernel> kernel = entry.prepare(request);
  items.push_back(
      {*request.attrs, request.inputs, request.outputs, request.values, request.node, kernel});
  return kernel;
}

Plan compile_plan(std::span<const Fetch> fetches, std::span<const FeedSpec> feeds,
                  const DeviceSet& devices, KernelCache& kernels, const CompileOptions& options) {
  Plan plan;
  PlanGraph graph = build_plan_graph(fetches, feeds, plan.log);
  plan.placements = place(graph, devices, options.soft_placement, plan.log);
  if (options.passes.drop_unread) drop_unread(graph, plan.log);
  if (options.passes.fold_constants) fold_constants(graph, devices, plan.log);
  if (options.passes.share_subexpressions) share_subexpressions(graph, plan.log);
  apply_rewrites(graph, options.passes, plan.log);
  lower(graph, devices, kernels, options.passes, plan);
#ifdef TOWERFLOW_VERIFY
  verify_plan(plan);
#endif
  return plan;
}

std::size_t Plan::launches() const {
  std::size_t count = 0;
  for (const QueueProgram& queue : queues) {
    count += static_cast<std::size_t>(
        std::count_if(queue.instructions.begin(), queue.instructions.end(),
                      [](const auto& i) { return i.kind == Instruction::Kind::launch; }));
  }
  return count;
}

namespace {

std::string slot_text(const Slot& slot) {
  const char* kind = "";
  switch (slot.kind) {
    case Slot::Kind::arena:
      return fmt::format("{}@{}", slot.desc.shape.text(), slot.offset);
    case Slot::Kind::constant:
      kind = "constant";
      break;
    case Slot::Kind::variable:
      kind = "variable";
      break;
    case Slot::Kind::feed:
      kind = "feed";
      break;
    case Slot::Kind::output:
      kind = "result";
      break;
    case Slot::Kind::boxed:
      kind = "strings";
      break;
    case Slot::Kind::late:
      kind = "late";
      break;
  }
  return fmt::format("{}:{}", kind, slot.desc.shape.text());
}

}  // namespace

std::string Plan::text(const DeviceSet& devices) const {
  std::string text;
  for (const std::string& line : log.lines) text += line + "\n";
  for (const QueueProgram& queue : queues) {
    text += fmt::format("queue {}\n", devices[queue.device].name);
    for (const Instruction& instruction : queue.instructions) {
      if (instruction.kind != Instruction::Kind::launch) {
        text += fmt::format("  {} event {}\n",
                            instruction.kind == Instruction::Kind::wait ? "wait for" : "record",
                            instruction.event);
        continue;
      }
      std::string inputs, outputs;
      for (int slot : instruction.inputs)
        inputs += " " + slot_text(slots[static_cast<std::size_t>(slot)]);
      for (int slot : instruction.outputs)
        outputs += " " + slot_text(slots[static_cast<std::size_t>(slot)]);
      text +=
          fmt::format("  {} [{}{}] {}:{} ->{}\n", instruction.op->name, instruction.entry->label,
                      instruction.late ? ", late" : "", instruction.detail.node, inputs, outputs);
    }
  }
  return text;
}

void verify_plan(const Plan& plan) {
  const auto check = [](bool holds, const char* rule, const std::string& node) {
    if (!holds) throw errors::InternalError(fmt::format("plan verifier: {}", rule), {.node = node});
  };
  std::vector<int> recorded(static_cast<std::size_t>(plan.events), 0);
  for (const QueueProgram& queue : plan.queues) {
    for (const Instruction& instruction : queue.instructions) {
      if (instruction.kind == Instruction::Kind::record) {
        ++recorded[static_cast<std::size_t>(instruction.event)];
      }
      if (instruction.kind != Instruction::Kind::launch) continue;
      const std::string& node = instruction.detail.node;
      check(instruction.late == (instruction.kernel == nullptr),
            "a launch has a kernel unless it is late", node);
      check(std::is_sorted(instruction.variables.begin(), instruction.variables.end(),
                           [](const auto& a, const auto& b) { return a.variable < b.variable; }),
            "variables are locked in ascending order", node);
      for (const auto* operands : {&instruction.inputs, &instruction.outputs}) {
        for (int slot : *operands) {
          check(slot >= 0 && static_cast<std::size_t>(slot) < plan.slots.size(),
                "an operand names a slot", node);
          const Slot& at = plan.slots[static_cast<std::size_t>(slot)];
          check(at.kind != Slot::Kind::arena || at.offset + at.desc.bytes() <= plan.arena_bytes,
                "a slot lies inside the arena", node);
          check(at.kind == Slot::Kind::late || at.desc.shape.fully_known(),
                "only a late slot has an open shape", node);
        }
      }
    }
  }
  for (int count : recorded) check(count == 1, "an event is recorded exactly once", "");
}

}  // namespace towerflow
