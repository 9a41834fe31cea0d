#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/runtime/arena_pool.h"
#include "core/runtime/plan.h"

namespace towerflow {

/// The memory and bindings of a run of a plan. Used by one run at a time, then reused.
class Frame {
 public:
  /// State for executing one queue, kept so that a run allocates nothing.
  struct QueueState {
    std::unique_ptr<Queue> queue;
    std::vector<const void*> inputs;
    std::vector<void*> outputs;
    std::vector<Span> spans;  // per instruction; filled if the run is traced
  };

  Frame(const Plan& plan, const DeviceSet& devices, ResourceStore& resources);

  /// Binds memory, feeds and result Arrays; resets events. The feeds must outlive the run. Result
  /// Arrays that were returned are reused if nobody else holds them. With `spends_feeds`, the
  /// memory of feeds is reused in the same way, see Plan::in_memory_of.
  void begin(ArenaPool& arenas, std::span<const Array> feeds, bool trace,
             bool spends_feeds = false);
  /// Moves the results of the run out, in the order of the fetches; empty Arrays for operations.
  void take_results(std::vector<Array>& results);
  /// Returns the Arrays of `take_results` to the frame for reuse by the next run.
  void return_results(std::vector<Array>& results);
  /// Releases the memory at the end of a run.
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
  /// Returns the dtype, shape and memory of a slot in this run, also of a late slot.
  const TensorDesc& desc(int slot) const;
  /// Returns what the plan declares of a slot; the shape of a late slot is partially unknown.
  const TensorDesc& declared(int slot) const {
    return plan_.slots[static_cast<std::size_t>(slot)].desc;
  }
  /// Allocates the Array of a late slot and returns its address.
  void* bind_late(int slot, DType dtype, const Shape& shape);
  /// Makes `value` that of a late or given slot, and of its views.
  void give(int slot, const Array& value);
  /// Returns the value of a slot as an Array that lives until the run ends and does not change: it
  /// shares the slot's memory, or is a copy if that is used again.
  Array keep(int slot) const;
  /// Returns the value of a slot as an Array that is valid while its frame runs. It owns its memory
  /// only if that is not used again.
  Array value(int slot) const;
  QueueState& queue(std::size_t index) { return queues_[index]; }

 private:
  void make_events(const DeviceSet& devices);
  void bind_constants(const DeviceSet& devices);
  void* device_constant(const Array& value, const Device& device);
  void bind_result(std::size_t slot, bool spends_feeds);
  void bind_input_memory();
  std::size_t memory_slot(int slot) const {
    return static_cast<std::size_t>(plan_.view_of[static_cast<std::size_t>(slot)]);
  }

  const Plan& plan_;
  std::vector<ArenaPool::Block> blocks_;  // per arena of the plan
  std::vector<const void*> bound_;        // per arena: the memory that addresses_ was computed for
  std::vector<void*> addresses_;          // per slot
  std::vector<Array> arrays_;             // per slot that needs one: results, strings, late values
  std::vector<Shape> result_shapes_;      // per slot; if a view of it is fetched: the view's shape
  std::vector<int> in_memory_of_;         // per slot of a result, see Plan
  std::vector<TensorDesc> late_descs_;    // per late slot
  std::vector<std::vector<int>> views_;   // per given slot: other slots that use its memory
  std::span<const Array> feeds_;          // of the run
  std::vector<VariableStorage*> variables_;
  std::vector<std::shared_ptr<void>> device_constants_;
  std::vector<std::shared_ptr<Event>> events_;
  std::vector<QueueState> queues_;
  ResourceStore& resources_;
  std::vector<void*> input_addresses_;  // of one kernel at a time
};

}  // namespace towerflow
