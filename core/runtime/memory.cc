// Pass 6: assigns offsets in the memory of a frame.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "core/runtime/plan.h"

namespace towerflow {
namespace {

constexpr std::size_t kSlotUnit = 64;  // bytes; alignment of every slot

std::size_t slot_bytes(std::size_t bytes) {
  return (std::max<std::size_t>(bytes, 1) + kSlotUnit - 1) / kSlotUnit * kSlotUnit;
}

/// A growing region of memory. Allocates the best-fitting hole, the lowest of several.
class Region {
 public:
  std::size_t take(std::size_t bytes) {
    if (const auto best = by_size_.lower_bound({bytes, 0}); best != by_size_.end()) {
      const auto [size, offset] = *best;
      remove(offset, size);
      if (size > bytes) add(offset + bytes, size - bytes);
      return offset;
    }
    // Grow the region, reusing the last hole if it is at the end.
    std::size_t offset = end_;
    if (!holes_.empty() && holes_.rbegin()->first + holes_.rbegin()->second == end_) {
      offset = holes_.rbegin()->first;
      remove(offset, holes_.rbegin()->second);
    }
    end_ = offset + bytes;
    return offset;
  }

  void release(std::size_t offset, std::size_t bytes) {
    if (const auto next = holes_.find(offset + bytes); next != holes_.end()) {
      const std::size_t more = next->second;
      remove(offset + bytes, more);
      bytes += more;
    }
    if (auto before = holes_.lower_bound(offset); before != holes_.begin()) {
      const auto [begin, size] = *--before;
      if (begin + size == offset) {
        remove(begin, size);
        offset = begin;
        bytes += size;
      }
    }
    add(offset, bytes);
  }

  std::size_t end() const { return end_; }

 private:
  void add(std::size_t offset, std::size_t bytes) {
    holes_.emplace(offset, bytes);
    by_size_.emplace(bytes, offset);
  }
  void remove(std::size_t offset, std::size_t bytes) {
    holes_.erase(offset);
    by_size_.erase({bytes, offset});
  }

  std::map<std::size_t, std::size_t> holes_;               // offset -> bytes
  std::set<std::pair<std::size_t, std::size_t>> by_size_;  // the same holes: (bytes, offset)
  std::size_t end_ = 0;
};

struct Lifetime {
  int queue = -1;
  int first = -1;                // the first instruction that writes it
  int last = -1;                 // the last instruction of the same queue that reads it
  bool crosses = false;          // another queue uses it: never released
  bool reused_in_place = false;  // its memory was reused in place by another slot
  bool ended = false;            // its memory was released
};

class MemoryPlanner {
 public:
  MemoryPlanner(Plan& plan, const DeviceSet& devices, bool reuse)
      : plan_(plan), devices_(devices), reuse_(reuse) {}

  void run() {
    choose_arenas();
    lifetimes_.resize(plan_.slots.size());
    find_lifetimes();
    if (reuse_) extend_input_memory();
    for (std::size_t queue = 0; queue < plan_.queues.size(); ++queue) {
      assign(static_cast<int>(queue));
    }
    for (std::size_t i = 0; i < plan_.slots.size(); ++i) {
      const Slot& memory = plan_.slots[static_cast<std::size_t>(plan_.view_of[i])];
      plan_.slots[i].offset = memory.offset;
      plan_.slots[i].arena = memory.arena;
    }
    find_results_in_feeds();
  }

 private:
  Slot& memory_slot(int slot) { return plan_.slots[static_cast<std::size_t>(root(slot))]; }
  int root(int slot) const { return plan_.view_of[static_cast<std::size_t>(slot)]; }
  Lifetime& lifetime(int slot) { return lifetimes_[static_cast<std::size_t>(root(slot))]; }

  /// Chooses the arenas: one per memory, in which each queue has its own region.
  void choose_arenas() {
    plan_.arenas = {{.device = devices_.host()}};
    for (QueueProgram& queue : plan_.queues) {
      const Device& device = devices_[queue.device];
      if (!device.on_host()) plan_.arenas[0].staging = devices_.first_device_of(*device.backend);
      const MemorySpace space = queue.lane == Lane::download ? kHostSpace : device.space();
      const auto same = std::find_if(plan_.arenas.begin(), plan_.arenas.end(),
                                     [&](const Arena& arena) { return arena.space == space; });
      queue.arena = static_cast<int>(same - plan_.arenas.begin());
      if (same == plan_.arenas.end()) {
        plan_.arenas.push_back({.device = queue.device, .space = space});
      }
    }
  }

  void find_lifetimes() {
    for (std::size_t queue = 0; queue < plan_.queues.size(); ++queue) {
      const auto& instructions = plan_.queues[queue].instructions;
      for (std::size_t i = 0; i < instructions.size(); ++i) {
        for (int slot : instructions[i].outputs) {
          Lifetime& life = lifetime(slot);
          if (life.queue < 0)
            life = {static_cast<int>(queue), static_cast<int>(i), static_cast<int>(i)};
          else if (life.queue != static_cast<int>(queue))
            life.crosses = true;
          else  // another branch writes it
            life.last = std::max(life.last, static_cast<int>(i));
        }
      }
    }
    for (std::size_t queue = 0; queue < plan_.queues.size(); ++queue) {
      const auto& instructions = plan_.queues[queue].instructions;
      for (std::size_t i = 0; i < instructions.size(); ++i) {
        for (int slot : instructions[i].inputs) {
          Lifetime& life = lifetime(slot);
          if (life.queue < 0) continue;
          if (life.queue != static_cast<int>(queue))
            life.crosses = true;
          else
            life.last = std::max(life.last, static_cast<int>(i));
        }
        for (const GuardUse& guard : instructions[i].guards) {
          Lifetime& life = lifetime(guard.slot);
          if (life.queue < 0) continue;
          if (life.queue != static_cast<int>(queue))
            life.crosses = true;
          else
            life.last = std::max(life.last, static_cast<int>(i));
        }
      }
    }
  }

  /// A value in the memory of a kernel may overwrite another one in place. Puts the other one there
  /// too, then the one that this one overwrites, and so on.
  void extend_input_memory() {
    std::map<int, int> inside;  // slot with memory of its own -> slot in the memory of a kernel
    for (const InputMemory& memory : plan_.input_memories) {
      for (const int slot : memory.slots) {
        if (slot >= 0) inside[slot] = slot;
      }
    }
    if (inside.empty()) return;
    for (const QueueProgram& queue : plan_.queues) {
      for (std::size_t i = queue.instructions.size(); i-- > 0;) {
        const Instruction& instruction = queue.instructions[i];
        for (const int slot : instruction.outputs) {
          const auto at = inside.find(root(slot));
          if (at == inside.end() || instruction.kernel == nullptr) continue;
          const std::size_t bytes = memory_slot(slot).desc.bytes();
          const int input = find_reusable_input(instruction, slot, bytes, static_cast<int>(i));
          if (input >= 0) inside[root(input)] = at->second;
        }
      }
    }
    for (std::size_t i = 0; i < plan_.slots.size(); ++i) {
      const auto at = inside.find(plan_.view_of[i]);
      if (at == inside.end()) continue;
      plan_.view_of[i] = at->second;
      plan_.slots[i].kind = Slot::Kind::given;
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
          allocate_output(instruction, slot, region, base, static_cast<int>(i));
        }
      }
      const std::size_t workspace =
          instruction.kernel == nullptr ? 0 : instruction.kernel->workspace_bytes();
      if (workspace > 0) {
        const std::size_t at = region.take(slot_bytes(workspace));
        instruction.workspace = base + at;
        if (reuse_) region.release(at, slot_bytes(workspace));
      }
      if (reuse_) free_ended_inputs(instruction, region, base, static_cast<int>(i));
    }
    arena.bytes = base + region.end();
  }

  bool owns_memory(int slot, int queue, int instruction) {
    const Lifetime& life = lifetime(slot);
    return memory_slot(slot).kind == Slot::Kind::arena && life.queue == queue &&
           life.first == instruction;
  }

  void allocate_output(const Instruction& instruction, int slot, Region& region, std::size_t base,
                       int index) {
    Slot& memory = memory_slot(slot);
    const int input = reuse_ && instruction.kernel != nullptr
                          ? find_reusable_input(instruction, slot, memory.desc.bytes(), index)
                          : -1;
    if (input < 0) {
      memory.offset = base + region.take(slot_bytes(memory.desc.bytes()));
      return;
    }
    memory.offset = memory_slot(input).offset;
    lifetime(input).reused_in_place = true;
  }

  /// Returns the first input of an instruction whose memory the output can reuse; -1 for none.
  int find_reusable_input(const Instruction& instruction, int output, std::size_t bytes,
                          int index) {
    std::unordered_map<const Lifetime*, int> reads;  // filled on demand
    for (const InPlacePair& pair : instruction.kernel->in_place()) {
      if (instruction.outputs[static_cast<std::size_t>(pair.output)] != output) continue;
      const int input = instruction.inputs[static_cast<std::size_t>(pair.input)];
      const Lifetime& from = lifetime(input);
      if (memory_slot(input).kind != Slot::Kind::arena || from.crosses || from.reused_in_place ||
          from.last != index || from.queue != lifetime(output).queue ||
          memory_slot(input).desc.bytes() != bytes) {
        continue;
      }
      if (reads.empty()) {
        for (const int read : instruction.inputs) ++reads[&lifetime(read)];
      }
      if (reads[&from] == 1) return input;
    }
    return -1;
  }

  void find_results_in_feeds() {
    plan_.in_memory_of.assign(plan_.fetches.size(), -1);
    if (!reuse_) return;
    std::vector<int> reads(plan_.slots.size(), 0);  // per slot with memory; also by fetches
    const auto count = [&](int slot) {
      if (slot >= 0) ++reads[static_cast<std::size_t>(root(slot))];
    };
    for (const QueueProgram& queue : plan_.queues) {
      for (const Instruction& instruction : queue.instructions) {
        for (const int slot : instruction.inputs) count(slot);
        for (const GuardUse& guard : instruction.guards) count(guard.slot);
      }
    }
    for (const int slot : plan_.fetches) count(slot);
    for (const QueueProgram& queue : plan_.queues) {
      for (const Instruction& instruction : queue.instructions) {
        if (instruction.kernel == nullptr || !instruction.guards.empty()) continue;
        for (const InPlacePair& pair : instruction.kernel->in_place()) {
          const int input = root(instruction.inputs[static_cast<std::size_t>(pair.input)]);
          const int output = root(instruction.outputs[static_cast<std::size_t>(pair.output)]);
          const Slot &from = memory_slot(input), &to = memory_slot(output);
          const auto fetch = std::find(plan_.fetches.begin(), plan_.fetches.end(), output);
          const auto read_once = [&](int slot) {
            return reads[static_cast<std::size_t>(slot)] == 1;
          };
          if (from.kind == Slot::Kind::feed && to.kind == Slot::Kind::output &&
              fetch != plan_.fetches.end() && read_once(input) && read_once(output) &&
              from.desc.dtype == to.desc.dtype && from.desc.shape == to.desc.shape) {
            plan_.in_memory_of[static_cast<std::size_t>(fetch - plan_.fetches.begin())] =
                from.index;
          }
        }
      }
    }
  }

  void free_ended_inputs(const Instruction& instruction, Region& region, std::size_t base,
                         int index) {
    const auto end = [&](int slot) {
      Lifetime& life = lifetime(slot);
      const Slot& memory = memory_slot(slot);
      if (memory.kind != Slot::Kind::arena || life.crosses || life.reused_in_place || life.ended ||
          life.last != index) {
        return;
      }
      life.ended = true;
      region.release(memory.offset - base, slot_bytes(memory.desc.bytes()));
    };
    for (int slot : instruction.inputs) end(slot);
    for (int slot : instruction.outputs) end(slot);
    for (const GuardUse& guard : instruction.guards) end(guard.slot);
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
