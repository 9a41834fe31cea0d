#pragma once

#include <memory>
#include <vector>

#include "core/runtime/arena_pool.h"
#include "core/runtime/plan.h"

namespace towerflow {

/// Memory and bindings of one run of a plan; used by one run at a time, then again.
class Frame {
 public:
  /// What the walk along one queue needs, kept so that a run allocates nothing.
  struct QueueState {
    std::unique_ptr<Queue> queue;
    std::vector<const void*> inputs;
    std::vector<void*> outputs;
    std::vector<Span> spans;  // per instruction, when the run is traced
  };

  Frame(const Plan& plan, const DeviceSet& devices, ResourceStore& resources);

  /// Binds memory, feeds and result Arrays; clears events. The feeds live as long as the run. A
  /// result that was put back and that nobody else holds is written again.
  void begin(ArenaPool& arenas, std::span<const Array> feeds, bool trace);
  /// Moves the results of the run out, in the order of the fetches; empty Arrays for operations.
  void take_results(std::vector<Array>& results);
  /// Gives the arrays of `take_results` back to the frame, so that the next run reuses them.
  void return_results(std::vector<Array>& results);
  /// Lets go of the memory.
  void end(ArenaPool& arenas);

  void* address(int slot) const { return addresses_[static_cast<std::size_t>(slot)]; }
  std::byte* arena(int index) const {
    return static_cast<std::byte*>(blocks_[static_cast<std::size_t>(index)].memory.get());
  }
  const std::shared_ptr<Event>& event(int index) const {
    return events_[static_cast<std::size_t>(index)];
  }
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
  QueueState& queue(std::size_t index) { return queues_[index]; }

 private:
  void make_events(const DeviceSet& devices);
  void bind_constants(const DeviceSet& devices);
  void* device_constant(const Array& value, const Device& device);
  void bind_result(std::size_t slot);
  std::size_t memory_slot(int slot) const {
    return static_cast<std::size_t>(plan_.view_of[static_cast<std::size_t>(slot)]);
  }

  const Plan& plan_;
  std::vector<ArenaPool::Block> blocks_;  // per arena of the plan
  std::vector<const void*> bound_;        // the memory of each that addresses_ were made for
  std::vector<void*> addresses_;          // per slot
  std::vector<Array> arrays_;             // per slot, where it has one: results, strings, late
  std::vector<Shape> result_shapes_;      // per slot: of a fetch that is a view, the fetch's
  std::vector<TensorDesc> late_descs_;    // per slot, of late ones
  std::vector<VariableStorage*> variables_;
  std::vector<std::shared_ptr<void>> device_constants_;
  std::vector<std::shared_ptr<Event>> events_;
  std::vector<QueueState> queues_;
};

}  // namespace towerflow
