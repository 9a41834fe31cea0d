// Pass 6: offsets for what lies in a frame's memory.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/runtime/plan.h"

namespace towerflow {
namespace {

constexpr std::size_t kUnit = 64;  // bytes: alignment of every slot

std::size_t rounded(std::size_t bytes) {
  return (std::max<std::size_t>(bytes, 1) + kUnit - 1) / kUnit * kUnit;
}

/// A region of memory that grows and hands out the best-fitting hole.
class Region {
 public:
  std::size_t take(std::size_t bytes) {
    auto best = holes_.end();
    for (auto hole = holes_.begin(); hole != holes_.end(); ++hole) {
      if (hole->second >= bytes && (best == holes_.end() || hole->second < best->second))
        best = hole;
    }
    if (best != holes_.end()) {
      const auto [offset, size] = *best;
      holes_.erase(best);
      if (size > bytes) holes_[offset + bytes] = size - bytes;
      return offset;
    }
    // Grow, beginning in the last hole when it reaches the end.
    std::size_t offset = end_;
    if (!holes_.empty() && holes_.rbegin()->first + holes_.rbegin()->second == end_) {
      offset = holes_.rbegin()->first;
      holes_.erase(offset);
    }
    end_ = offset + bytes;
    return offset;
  }

  void give_back(std::size_t offset, std::size_t bytes) {
    auto [hole, added] = holes_.emplace(offset, bytes);
    if (const auto next = std::next(hole);
        next != holes_.end() && hole->first + hole->second == next->first) {
      hole->second += next->second;
      holes_.erase(next);
    }
    if (hole != holes_.begin()) {
      const auto before = std::prev(hole);
      if (before->first + before->second == hole->first) {
        before->second += hole->second;
        holes_.erase(hole);
      }
    }
  }

  std::size_t end() const { return end_; }

 private:
  std::map<std::size_t, std::size_t> holes_;  // offset -> bytes
  std::size_t end_ = 0;
};

struct Lifetime {
  int queue = -1;
  int first = -1;          // instruction that writes it
  int last = -1;           // last instruction of the same queue that reads it
  bool crosses = false;    // another queue reads it: never given back
  int reuses = -1;         // slot whose memory it takes over in place
  bool passed_on = false;  // its memory goes on as another slot's
};

class MemoryPlanner {
 public:
  MemoryPlanner(Plan& plan, const DeviceSet& devices, bool reuse)
      : plan_(plan), devices_(devices), reuse_(reuse) {}

  void run() {
    choose_arenas();
    lifetimes_.resize(plan_.slots.size());
    for (std::size_t queue = 0; queue < plan_.queues.size(); ++queue) {
      scan(static_cast<int>(queue));
    }
    for (std::size_t queue = 0; queue < plan_.queues.size(); ++queue) {
      assign(static_cast<int>(queue));
    }
    for (std::size_t i = 0; i < plan_.slots.size(); ++i) {
      const Slot& memory = plan_.slots[static_cast<std::size_t>(plan_.view_of[i])];
      plan_.slots[i].offset = memory.offset;
      plan_.slots[i].arena = memory.arena;
    }
  }

 private:
  Slot& memory_slot(int slot) {
    return plan_.slots[static_cast<std::size_t>(plan_.view_of[static_cast<std::size_t>(slot)])];
  }
  Lifetime& lifetime(int slot) {
    return lifetimes_[static_cast<std::size_t>(plan_.view_of[static_cast<std::size_t>(slot)])];
  }

  /// Each memory has one arena, in which each queue has a region of its own.
  void choose_arenas() {
    plan_.arenas = {{.device = devices_.host()}};
    for (QueueProgram& queue : plan_.queues) {
      const Device& device = devices_[queue.device];
      if (!device.on_host()) plan_.arenas[0].pinned = true;
      const MemorySpace space = queue.lane == Lane::download ? kHostSpace : device.space();
      const auto same = std::find_if(plan_.arenas.begin(), plan_.arenas.end(),
                                     [&](const Arena& arena) { return arena.space == space; });
      queue.arena = static_cast<int>(same - plan_.arenas.begin());
      if (same == plan_.arenas.end()) {
        plan_.arenas.push_back({.device = queue.device, .space = space});
      }
    }
  }

  void scan(int queue) {
    const auto& instructions = plan_.queues[static_cast<std::size_t>(queue)].instructions;
    for (std::size_t i = 0; i < instructions.size(); ++i) {
      for (int slot : instructions[i].outputs) {
        Lifetime& life = lifetime(slot);
        if (life.queue < 0)
          life = {queue, static_cast<int>(i), static_cast<int>(i)};
        else if (life.queue != queue)
          life.crosses = true;
      }
    }
    for (std::size_t other = 0; other < plan_.queues.size(); ++other) {
      const auto& readers = plan_.queues[other].instructions;
      for (std::size_t i = 0; i < readers.size(); ++i) {
        for (int slot : readers[i].inputs) {
          Lifetime& life = lifetime(slot);
          if (life.queue != queue) continue;
          if (static_cast<int>(other) != queue)
            life.crosses = true;
          else
            life.last = std::max(life.last, static_cast<int>(i));
        }
      }
    }
  }

  void assign(int queue) {
    QueueProgram& program = plan_.queues[static_cast<std::size_t>(queue)];
    auto& instructions = program.instructions;
    Arena& arena = plan_.arenas[static_cast<std::size_t>(program.arena)];
    Region region;
    const std::size_t base = arena.bytes;
    for (std::size_t i = 0; i < instructions.size(); ++i) {
      Instruction& instruction = instructions[i];
      for (int slot : instruction.outputs) {
        if (owns_memory(slot, queue, static_cast<int>(i))) {
          memory_slot(slot).arena = program.arena;
          take_for_output(instruction, slot, region, base, static_cast<int>(i));
        }
      }
      const std::size_t workspace =
          instruction.kernel == nullptr ? 0 : instruction.kernel->workspace_bytes();
      if (workspace > 0) {
        const std::size_t at = region.take(rounded(workspace));
        instruction.workspace = base + at;
        if (reuse_) region.give_back(at, rounded(workspace));
      }
      if (reuse_) give_back_ended(instruction, region, base, static_cast<int>(i));
    }
    arena.bytes = base + region.end();
  }

  bool owns_memory(int slot, int queue, int instruction) {
    const Lifetime& life = lifetime(slot);
    return memory_slot(slot).kind == Slot::Kind::arena && life.queue == queue &&
           life.first == instruction;
  }

  void take_for_output(const Instruction& instruction, int slot, Region& region, std::size_t base,
                       int index) {
    Slot& memory = memory_slot(slot);
    if (reuse_ && instruction.kernel != nullptr) {
      for (const InPlacePair& pair : instruction.kernel->in_place()) {
        if (instruction.outputs[static_cast<std::size_t>(pair.output)] != slot) continue;
        const int input = instruction.inputs[static_cast<std::size_t>(pair.input)];
        Lifetime& from = lifetime(input);
        const bool read_twice =
            std::count_if(instruction.inputs.begin(), instruction.inputs.end(),
                          [&](int other) { return &lifetime(other) == &from; }) > 1;
        if (memory_slot(input).kind != Slot::Kind::arena || from.crosses || from.passed_on ||
            read_twice || from.last != index || from.queue != lifetime(slot).queue ||
            memory_slot(input).desc.bytes() != memory.desc.bytes()) {
          continue;
        }
        memory.offset = memory_slot(input).offset;
        from.passed_on = true;
        return;
      }
    }
    memory.offset = base + region.take(rounded(memory.desc.bytes()));
  }

  void give_back_ended(const Instruction& instruction, Region& region, std::size_t base,
                       int index) {
    std::vector<int> done;
    const auto end = [&](int slot) {
      const int root = plan_.view_of[static_cast<std::size_t>(slot)];
      const Lifetime& life = lifetimes_[static_cast<std::size_t>(root)];
      const Slot& memory = plan_.slots[static_cast<std::size_t>(root)];
      if (memory.kind != Slot::Kind::arena || life.crosses || life.passed_on ||
          life.last != index || std::find(done.begin(), done.end(), root) != done.end()) {
        return;
      }
      done.push_back(root);
      region.give_back(memory.offset - base, rounded(memory.desc.bytes()));
    };
    for (int slot : instruction.inputs) end(slot);
    for (int slot : instruction.outputs) end(slot);
  }

  Plan& plan_;
  const DeviceSet& devices_;
  bool reuse_;
  std::vector<Lifetime> lifetimes_;
};

}  // namespace

void assign_memory(Plan& plan, const DeviceSet& devices, bool reuse) {
  MemoryPlanner(plan, devices, reuse).run();
  for (const Arena& arena : plan.arenas) {
    plan.log.add(fmt::format("memory: {} bytes in a frame on {}, buffers {}", arena.bytes,
                             arena.space == kHostSpace ? "the host" : devices[arena.device].name,
                             reuse ? "used again" : "each by itself"));
  }
}

}  // namespace towerflow
