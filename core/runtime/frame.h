#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "core/runtime/plan.h"

namespace towerflow {

/// Memory of frames, shared by the plans of a session: a block goes to one run at a time.
class ArenaPool {
 public:
  struct Block {
    std::shared_ptr<void> memory;
    std::size_t bytes = 0;
  };
  /// The smallest free block of at least `bytes`, or a new one.
  Block take(std::size_t bytes);
  void give_back(Block block);

 private:
  std::mutex mutex_;
  std::vector<Block> free_;
};

/// Memory and bindings of one run of a plan; used by one run at a time, then again.
class Frame {
 public:
  Frame(const Plan& plan, const DeviceSet& devices, ResourceStore& resources);

  /// Binds the arena, feeds and fresh result Arrays; clears events.
  void begin(ArenaPool::Block block, std::span<const Array> feeds);
  /// The results of the run in the order of the fetches; empty Arrays for operations.
  std::vector<Array> take_results();
  /// Lets go of the arena and everything bound.
  ArenaPool::Block end();

  void* address(int slot) const { return addresses_[static_cast<std::size_t>(slot)]; }
  std::byte* arena() const { return static_cast<std::byte*>(block_.memory.get()); }
  Event& event(int index) const { return *events_[static_cast<std::size_t>(index)]; }
  VariableStorage& variable(int index) const {
    return *variables_[static_cast<std::size_t>(index)];
  }
  /// Shape of a slot in this run, also of a late one.
  const TensorDesc& desc(int slot) const;
  /// What the plan knows of a slot: an open shape for a late one.
  const TensorDesc& declared(int slot) const {
    return plan_.slots[static_cast<std::size_t>(slot)].desc;
  }
  /// Gives a late slot its Array.
  void* bind_late(int slot, DType dtype, const Shape& shape);
  Queue& queue(std::size_t index) const { return *queues_[index]; }

 private:
  const Plan& plan_;
  ArenaPool::Block block_;
  std::vector<void*> addresses_;        // per slot
  std::vector<Array> arrays_;           // per slot, where it has one: results, strings, late
  std::vector<TensorDesc> late_descs_;  // per slot, of late ones
  std::vector<VariableStorage*> variables_;
  std::vector<std::unique_ptr<Event>> events_;
  std::vector<std::unique_ptr<Queue>> queues_;
};

}  // namespace towerflow
