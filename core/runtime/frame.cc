#include "core/runtime/frame.h"

#include <algorithm>

namespace towerflow {

ArenaPool::Block ArenaPool::take(std::size_t bytes) {
  {
    std::lock_guard lock(mutex_);
    auto best = free_.end();
    for (auto block = free_.begin(); block != free_.end(); ++block) {
      if (block->bytes >= bytes && (best == free_.end() || block->bytes < best->bytes))
        best = block;
    }
    if (best != free_.end()) {
      Block block = std::move(*best);
      free_.erase(best);
      return block;
    }
    // Every free block is too small: the smallest makes room for the new one.
    if (free_.size() >= 8) {
      free_.erase(std::min_element(free_.begin(), free_.end(), [](const Block& a, const Block& b) {
        return a.bytes < b.bytes;
      }));
    }
  }
  const Array memory(DType::uint8, Shape{std::max<std::size_t>(bytes, 64)});
  return {memory.owner(), memory.bytes()};
}

void ArenaPool::give_back(Block block) {
  if (block.memory == nullptr) return;
  std::lock_guard lock(mutex_);
  free_.push_back(std::move(block));
}

Frame::Frame(const Plan& plan, const DeviceSet& devices, ResourceStore& resources)
    : plan_(plan),
      addresses_(plan.slots.size(), nullptr),
      arrays_(plan.slots.size()),
      late_descs_(plan.slots.size()) {
  for (const PlanVariable& variable : plan.variables) {
    variables_.push_back(&resources.variable(variable.name, variable.dtype, variable.shape));
  }
  for (const QueueProgram& queue : plan.queues) {
    const Device& device = devices[queue.device];
    queues_.push_back(device.backend->make_queue(device.index));
  }
  // An event belongs to the backend that records it; events of host threads serve all others.
  for (int i = 0; i < plan.events; ++i) events_.push_back(devices[0].backend->make_event());
  for (std::size_t i = 0; i < plan.slots.size(); ++i) {
    const Slot& slot = plan.slots[i];
    const auto index = static_cast<std::size_t>(slot.index);
    if (slot.kind == Slot::Kind::constant) {
      addresses_[i] = const_cast<void*>(plan.constants[index].raw());
    } else if (slot.kind == Slot::Kind::variable) {
      addresses_[i] = variables_[index]->value.raw();
    } else if (slot.kind == Slot::Kind::boxed) {
      arrays_[i] = Array(slot.desc.dtype, slot.desc.shape);
      addresses_[i] = arrays_[i].raw();
    }
  }
}

void Frame::begin(ArenaPool::Block block, std::span<const Array> feeds) {
  const bool moved = block.memory != block_.memory || addresses_.empty();
  block_ = std::move(block);
  for (std::size_t i = 0; i < plan_.slots.size(); ++i) {
    const Slot& slot = plan_.slots[i];
    if (slot.kind == Slot::Kind::arena) {
      if (moved) addresses_[i] = arena() + slot.offset;
    } else if (slot.kind == Slot::Kind::feed) {
      addresses_[i] = const_cast<void*>(feeds[static_cast<std::size_t>(slot.index)].raw());
      arrays_[i] = feeds[static_cast<std::size_t>(slot.index)];
    } else if (slot.kind == Slot::Kind::output && plan_.view_of[i] == static_cast<int>(i)) {
      arrays_[i] = Array(slot.desc.dtype, slot.desc.shape);
      addresses_[i] = arrays_[i].raw();
    }
  }
  for (std::size_t i = 0; i < plan_.slots.size(); ++i) {
    const int root = plan_.view_of[i];
    if (root != static_cast<int>(i)) addresses_[i] = addresses_[static_cast<std::size_t>(root)];
  }
  for (const auto& event : events_) event->reset();
}

std::vector<Array> Frame::take_results() {
  std::vector<Array> results;
  results.reserve(plan_.fetches.size());
  for (int slot : plan_.fetches) {
    if (slot < 0) {
      results.emplace_back();
      continue;
    }
    const auto index = static_cast<std::size_t>(slot);
    const Array& array = arrays_[static_cast<std::size_t>(plan_.view_of[index])];
    const Slot::Kind kind = plan_.slots[index].kind;
    results.push_back(kind == Slot::Kind::late ? array
                                               : array.reshaped(plan_.slots[index].desc.shape));
  }
  return results;
}

ArenaPool::Block Frame::end() {
  for (std::size_t i = 0; i < plan_.slots.size(); ++i) {
    const Slot::Kind kind = plan_.slots[i].kind;
    if (kind != Slot::Kind::boxed) arrays_[i] = Array();
  }
  return block_;
}

const TensorDesc& Frame::desc(int slot) const {
  const auto index = static_cast<std::size_t>(slot);
  return plan_.slots[index].kind == Slot::Kind::late ? late_descs_[index] : plan_.slots[index].desc;
}

void* Frame::bind_late(int slot, DType dtype, const Shape& shape) {
  const auto index = static_cast<std::size_t>(slot);
  arrays_[index] = Array(dtype, shape);
  late_descs_[index] = {dtype, shape, 0, kHostSpace};
  addresses_[index] = arrays_[index].raw();
  return addresses_[index];
}

}  // namespace towerflow
