// Text and numbers about plans: reports, memory maps, counts.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "core/runtime/plan.h"

namespace towerflow {
namespace {

std::size_t count(const Plan& plan, Instruction::Kind kind) {
  std::size_t found = 0;
  for (const QueueProgram& queue : plan.queues) {
    found += static_cast<std::size_t>(
        std::count_if(queue.instructions.begin(), queue.instructions.end(),
                      [&](const Instruction& instruction) { return instruction.kind == kind; }));
  }
  return found;
}

const char* kind_name(Slot::Kind kind) {
  switch (kind) {
    case Slot::Kind::arena:
      return "arena";
    case Slot::Kind::constant:
      return "constant";
    case Slot::Kind::variable:
      return "variable";
    case Slot::Kind::feed:
      return "feed";
    case Slot::Kind::output:
      return "result";
    case Slot::Kind::given:
      return "given";
    case Slot::Kind::boxed:
      return "strings";
    case Slot::Kind::late:
      return "late";
  }
  return "";
}

std::string slot_text(const Plan& plan, int index) {
  const Slot& slot = plan.slots[static_cast<std::size_t>(index)];
  const std::string shape = slot.desc.shape.text();
  if (slot.kind == Slot::Kind::arena) return fmt::format(" {}@{}", shape, slot.offset);
  const bool replica = slot.kind == Slot::Kind::variable &&
                       plan.variables[static_cast<std::size_t>(slot.index)].replica;
  return fmt::format(" {}:{}", replica ? "replica" : kind_name(slot.kind), shape);
}

/// Returns " if bool@64 is true".
std::string guards_text(const Plan& plan, const Instruction& instruction) {
  std::string text;
  for (const GuardUse& guard : instruction.guards) {
    text += fmt::format("{}{} is {}", text.empty() ? " if" : " and", slot_text(plan, guard.slot),
                        guard.branch);
  }
  return text;
}

std::string instruction_text(const Plan& plan, const Instruction& instruction) {
  std::string operands;
  for (int slot : instruction.inputs) operands += slot_text(plan, slot);
  operands += " ->";
  for (int slot : instruction.outputs) operands += slot_text(plan, slot);
  switch (instruction.kind) {
    case Instruction::Kind::wait:
      return fmt::format("wait for event {}", instruction.event);
    case Instruction::Kind::record:
      return fmt::format("record event {}", instruction.event);
    case Instruction::Kind::commit:
      return "commit: nothing below can fail, and the step is finished whatever comes";
    case Instruction::Kind::copy:
      return fmt::format("copy {}:{}", instruction.detail.node, operands);
    case Instruction::Kind::fill:
      return fmt::format("fill {}:{}", instruction.detail.node, operands);
    case Instruction::Kind::loop:
      return fmt::format("loop {}:{}{}", instruction.detail.node, operands,
                         guards_text(plan, instruction));
    case Instruction::Kind::launch:
      break;
  }
  return fmt::format("{} [{}{}{}] {}:{}{}", instruction.op->name, instruction.entry->label,
                     instruction.late ? ", late" : "",
                     instruction.through.empty() ? "" : ", stored at its home",
                     instruction.detail.node, operands, guards_text(plan, instruction));
}

}  // namespace

std::size_t Plan::launches() const { return count(*this, Instruction::Kind::launch); }
std::size_t Plan::copies() const {
  return count(*this, Instruction::Kind::copy) + count(*this, Instruction::Kind::fill);
}

std::size_t Plan::waits() const { return count(*this, Instruction::Kind::wait); }

std::size_t Plan::arena_bytes() const {
  std::size_t bytes = 0;
  for (const Arena& arena : arenas) bytes += arena.bytes;
  return bytes;
}

bool Plan::locked_before(int a, int b) const {
  const auto key = [this](int index) {
    const PlanVariable& variable = variables[static_cast<std::size_t>(index)];
    return std::tie(variable.name, variable.replica, variable.device);
  };
  return key(a) < key(b);
}

std::string Plan::text(const DeviceSet& devices) const {
  std::string text;
  for (const std::string& line : log.lines) text += line + "\n";
  for (const QueueProgram& queue : queues) {
    const Device& device = devices[queue.device];
    text += fmt::format("queue {}", device.name);
    if (!device.on_host()) text += fmt::format(", {}", lane_name(queue.lane));
    text += "\n";
    for (const Instruction& instruction : queue.instructions) {
      text += "  " + instruction_text(*this, instruction) + "\n";
    }
  }
  return text;
}

std::string Plan::memory_map(std::size_t arena) const {
  struct Item {
    std::size_t bytes;
    std::string what;
  };
  std::vector<Item> items;
  for (const QueueProgram& queue : queues) {
    if (static_cast<std::size_t>(queue.arena) != arena) continue;
    for (const Instruction& instruction : queue.instructions) {
      for (int index : instruction.outputs) {
        const Slot& slot = slots[static_cast<std::size_t>(index)];
        if (slot.kind != Slot::Kind::arena) continue;
        items.push_back({slot.desc.bytes(),
                         fmt::format("at {}: {} {} of {}", slot.offset, dtype_name(slot.desc.dtype),
                                     slot.desc.shape.text(), instruction.detail.node)});
      }
    }
  }
  std::stable_sort(items.begin(), items.end(),
                   [](const Item& a, const Item& b) { return a.bytes > b.bytes; });
  constexpr std::size_t kShown = 10;
  std::string text =
      fmt::format("the plan needs {} bytes there for {} values, the largest:", arenas[arena].bytes,
                  items.size());
  for (std::size_t i = 0; i < std::min(items.size(), kShown); ++i) {
    text += fmt::format("\n  {} bytes {}", items[i].bytes, items[i].what);
  }
  return text;
}

}  // namespace towerflow
