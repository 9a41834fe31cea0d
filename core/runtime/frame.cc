#include "core/runtime/frame.h"

#include <algorithm>
#include <cstring>

#include "core/device/pinned_memory.h"

namespace towerflow {
namespace {

VariableStorage& storage_of(const PlanVariable& variable, const DeviceSet& devices,
                            ResourceStore& resources) {
  const Device& device = devices[variable.device];
  const auto allocate = [&](std::size_t bytes) {
    if (variable.staging >= 0) return devices[variable.staging].backend->allocate_staging(bytes);
    return device.on_host() ? allocate_pinned(bytes)
                            : device.backend->allocate(device.index, bytes);
  };
  if (variable.replica) {
    return resources.replica(variable.name, device.space(), variable.dtype, variable.shape,
                             allocate);
  }
  try {
    return resources.variable(variable.name, device.space(), variable.dtype, variable.shape,
                              allocate);
  } catch (...) {
    if (device.on_host()) throw;
    rethrow_with({.node = variable.name, .device = device.name});
  }
}

}  // namespace

Frame::Frame(const Plan& plan, const DeviceSet& devices, ResourceStore& resources)
    : plan_(plan),
      bound_(plan.arenas.size(), nullptr),
      addresses_(plan.slots.size(), nullptr),
      arrays_(plan.slots.size()),
      result_shapes_(plan.slots.size()),
      in_memory_of_(plan.slots.size(), -1),
      late_descs_(plan.slots.size()),
      views_(plan.slots.size()),
      events_(static_cast<std::size_t>(plan.events)),
      resources_(resources) {
  for (const PlanVariable& variable : plan.variables) {
    variables_.push_back(&storage_of(variable, devices, resources));
  }
  for (const QueueProgram& queue : plan.queues) {
    const Device& device = devices[queue.device];
    QueueState state;
    state.queue = device.backend->make_queue(device.index, queue.lane);
    state.inputs.resize(plan.max_operands);
    state.outputs.resize(plan.max_operands);
    queues_.push_back(std::move(state));
  }
  make_events(devices);
  for (std::size_t i = 0; i < plan.slots.size(); ++i) {
    const Slot& slot = plan.slots[i];
    const auto index = static_cast<std::size_t>(slot.index);
    if (slot.kind == Slot::Kind::variable) {
      addresses_[i] = variables_[index]->value.raw();
    } else if (slot.kind == Slot::Kind::boxed) {
      arrays_[i] = Array(slot.desc.dtype, slot.desc.shape);
      addresses_[i] = arrays_[i].raw();
    }
  }
  for (std::size_t i = 0; i < plan.slots.size(); ++i) result_shapes_[i] = plan.slots[i].desc.shape;
  for (std::size_t i = 0; i < plan.fetches.size(); ++i) {
    const int fetch = plan.fetches[i];
    if (fetch < 0) continue;
    result_shapes_[memory_slot(fetch)] = plan.slots[static_cast<std::size_t>(fetch)].desc.shape;
    in_memory_of_[memory_slot(fetch)] = plan.in_memory_of[i];
  }
  for (std::size_t i = 0; i < plan.slots.size(); ++i) {
    const std::size_t root = memory_slot(static_cast<int>(i));
    if (root != i && plan.slots[i].kind == Slot::Kind::given) {
      views_[root].push_back(static_cast<int>(i));
    }
  }
  bind_constants(devices);
}

/// Makes the events, each by the backend of the queue that records it.
void Frame::make_events(const DeviceSet& devices) {
  for (const QueueProgram& queue : plan_.queues) {
    Backend& backend = *devices[queue.device].backend;
    for (const Instruction& instruction : queue.instructions) {
      const bool records = instruction.kind == Instruction::Kind::record;
      const int event = records ? instruction.event : instruction.access;
      if (event < 0) continue;
      events_[static_cast<std::size_t>(event)] = backend.make_event();
      events_[static_cast<std::size_t>(event)]->depth = instruction.depth;
    }
  }
}

void Frame::bind_constants(const DeviceSet& devices) {
  for (std::size_t i = 0; i < plan_.slots.size(); ++i) {
    const Slot& slot = plan_.slots[i];
    if (slot.kind != Slot::Kind::constant) continue;
    const Array& value = plan_.constants[static_cast<std::size_t>(slot.index)];
    addresses_[i] = const_cast<void*>(value.raw());
    if (slot.desc.space == kHostSpace) continue;
    const auto& all = devices.devices();
    const auto device = std::find_if(all.begin(), all.end(),
                                     [&](const Device& d) { return d.space() == slot.desc.space; });
    addresses_[i] = device_constant(value, *device);
  }
}

void* Frame::device_constant(const Array& value, const Device& device) {
  auto memory = device.backend->allocate(device.index, value.bytes());
  const auto staging = device.backend->allocate_staging(value.bytes());
  std::memcpy(staging.get(), value.raw(), value.bytes());
  copy_now(device, Lane::upload, memory.get(), staging.get(), value.bytes());
  device_constants_.push_back(memory);
  return memory.get();
}

void Frame::begin(ArenaPool& arenas, std::span<const Array> feeds, bool trace, bool spends_feeds) {
  feeds_ = feeds;
  arenas.take(plan_, blocks_);
  // Allocate results before any address changes, since this may fail.
  for (std::size_t i = 0; i < plan_.slots.size(); ++i) {
    const bool result = plan_.slots[i].kind == Slot::Kind::output;
    if (result && plan_.view_of[i] == static_cast<int>(i)) bind_result(i, spends_feeds);
  }
  bind_input_memory();
  for (std::size_t i = 0; i < plan_.slots.size(); ++i) {
    const Slot& slot = plan_.slots[i];
    const auto in_arena = static_cast<std::size_t>(slot.arena);
    if (slot.kind == Slot::Kind::arena) {
      if (blocks_[in_arena].memory.get() != bound_[in_arena]) {
        addresses_[i] = arena(slot.arena) + slot.offset;
      }
    } else if (slot.kind == Slot::Kind::feed) {
      addresses_[i] = const_cast<void*>(feeds[static_cast<std::size_t>(slot.index)].raw());
    }
  }
  for (std::size_t i = 0; i < plan_.slots.size(); ++i) {
    const std::size_t root = memory_slot(static_cast<int>(i));
    if (root != i) addresses_[i] = addresses_[root];
  }
  for (std::size_t i = 0; i < blocks_.size(); ++i) bound_[i] = blocks_[i].memory.get();
  for (const auto& event : events_) event->reset();
  for (std::size_t i = 0; trace && i < queues_.size(); ++i) {
    queues_[i].spans.assign(plan_.queues[i].instructions.size(), Span{});
  }
}

void Frame::bind_result(std::size_t slot, bool spends_feeds) {
  const auto is_held_once = [](const Array& of) { return of.owner().use_count() == 1; };
  Array& array = arrays_[slot];
  const int feed = spends_feeds ? in_memory_of_[slot] : -1;
  const bool in_feed = feed >= 0 && is_held_once(feeds_[static_cast<std::size_t>(feed)]);
  if (in_feed) array = feeds_[static_cast<std::size_t>(feed)];
  if (in_feed || (!array.empty() && is_held_once(array))) {
    // The last holder may have been another thread, whose reads must come before later writes. To
    // drop a reference acquires what other threads released; ThreadSanitizer ignores fences.
    std::shared_ptr<void>(array.owner()).reset();
  } else {
    array = Array(plan_.slots[slot].desc.dtype, result_shapes_[slot]);
  }
  addresses_[slot] = array.raw();
}

/// Puts values where the kernels that read them have memory for them.
void Frame::bind_input_memory() {
  for (const InputMemory& memory : plan_.input_memories) {
    input_addresses_.assign(memory.slots.size(), nullptr);
    const std::shared_ptr<void> owner = memory.kernel->input_memory(resources_, input_addresses_);
    for (std::size_t i = 0; i < memory.slots.size(); ++i) {
      const int slot = memory.slots[i];
      if (slot < 0) continue;
      const TensorDesc& what = declared(slot);
      give(slot, Array(what.dtype, what.shape, std::shared_ptr<void>(owner, input_addresses_[i])));
    }
  }
}

void Frame::take_results(std::vector<Array>& results) {
  results.resize(plan_.fetches.size());
  for (std::size_t i = 0; i < plan_.fetches.size(); ++i) {
    if (plan_.fetches[i] < 0) continue;
    std::swap(results[i], arrays_[memory_slot(plan_.fetches[i])]);
  }
}

void Frame::return_results(std::vector<Array>& results) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (plan_.fetches[i] < 0) continue;
    const std::size_t at = memory_slot(plan_.fetches[i]);
    if (plan_.slots[at].kind == Slot::Kind::output) std::swap(results[i], arrays_[at]);
  }
}

void Frame::end(ArenaPool& arenas) {
  for (std::size_t i = 0; i < plan_.slots.size(); ++i) {
    const Slot::Kind kind = plan_.slots[i].kind;
    if (kind != Slot::Kind::late && kind != Slot::Kind::given) continue;
    arrays_[i] = Array();
    addresses_[i] = nullptr;
  }
  arenas.release(blocks_);
}

const TensorDesc& Frame::desc(int slot) const {
  const auto index = static_cast<std::size_t>(slot);
  return plan_.slots[index].kind == Slot::Kind::late ? late_descs_[index] : plan_.slots[index].desc;
}

void* Frame::bind_late(int slot, DType dtype, const Shape& shape) {
  const auto index = static_cast<std::size_t>(slot);
  arrays_[index] = Array(dtype, shape);
  late_descs_[index] = {dtype, shape, kHostSpace};
  addresses_[index] = arrays_[index].raw();
  return addresses_[index];
}

void Frame::give(int slot, const Array& value) {
  const auto index = static_cast<std::size_t>(slot);
  arrays_[index] = value;
  addresses_[index] = arrays_[index].raw();
  if (plan_.slots[index].kind == Slot::Kind::late) {
    late_descs_[index] = {value.dtype(), value.shape(), kHostSpace};
  }
  for (const int view : views_[index]) {
    addresses_[static_cast<std::size_t>(view)] = addresses_[index];
  }
}

Array Frame::value(int slot) const {
  const TensorDesc& what = desc(slot);
  const std::size_t root = memory_slot(slot);
  const auto index = static_cast<std::size_t>(plan_.slots[root].index);
  std::shared_ptr<void> owner;  // of memory that is not written again
  switch (plan_.slots[root].kind) {
    case Slot::Kind::output:
    case Slot::Kind::given:
    case Slot::Kind::late:
      owner = arrays_[root].owner();
      break;
    case Slot::Kind::feed:
      owner = feeds_[index].owner();
      break;
    case Slot::Kind::constant:
      owner = plan_.constants[index].owner();
      break;
    case Slot::Kind::arena:
    case Slot::Kind::variable:
    case Slot::Kind::boxed:
      break;
  }
  return Array(what.dtype, what.shape, std::shared_ptr<void>(owner, address(slot)));
}

Array Frame::keep(int slot) const {
  const Array shared = value(slot);
  return shared.owner().use_count() > 0 ? shared : shared.copy();
}

}  // namespace towerflow
