#include "cuda/backend/pending_updates.h"

#include <algorithm>
#include <iterator>
#include <limits>

namespace towerflow::cuda {
namespace {

using Variable = device::UpdateList::Variable;

bool overlap(const void* a, std::size_t a_bytes, const void* b, std::size_t b_bytes) {
  const auto* first = static_cast<const std::byte*>(a);
  const auto* second = static_cast<const std::byte*>(b);
  return first < second + b_bytes && second < first + a_bytes;
}

std::size_t bytes_of(const Variable& variable, std::size_t element_size) {
  return static_cast<std::size_t>(variable.elements) * element_size;
}

/// Returns whether an update writes to memory that overlaps the bytes from `memory` on.
bool writes_to(const Variable& update, std::size_t element_size, const void* memory,
               std::size_t bytes) {
  const std::size_t own = bytes_of(update, element_size);
  return overlap(update.variable, own, memory, bytes) ||
         std::any_of(std::begin(update.slots), std::end(update.slots), [&](const void* slot) {
           return slot != nullptr && overlap(slot, own, memory, bytes);
         });
}

/// Returns whether `writer` writes what `other` reads or writes.
bool disturbs(const Variable& writer, const Variable& other, std::size_t element_size) {
  const std::size_t bytes = bytes_of(other, element_size);
  return writes_to(writer, element_size, other.variable, bytes) ||
         writes_to(writer, element_size, other.gradient, bytes) ||
         std::any_of(std::begin(other.slots), std::end(other.slots), [&](const void* slot) {
           return slot != nullptr && writes_to(writer, element_size, slot, bytes);
         });
}

std::int64_t blocks_of(const Variable& variable) {
  return (variable.elements + device::kUpdateChunk - 1) / device::kUpdateChunk;
}

}  // namespace

bool PendingUpdates::can_take(const VariableUpdate& update) const {
  if (empty()) return true;
  if (list_.count == device::kMaxUpdates || update.kernel != kernel_ ||
      update.unless != list_.unless ||
      !std::equal(std::begin(update.scalars), std::end(update.scalars), list_.scalars) ||
      blocks_ + blocks_of(update.variable) > std::numeric_limits<std::int32_t>::max()) {
    return false;
  }
  const auto changes_a_scalar = [&](const Variable& one) {
    return std::any_of(std::begin(list_.scalars), std::end(list_.scalars), [&](const void* scalar) {
      return scalar != nullptr && writes_to(one, element_size_, scalar, sizeof(double));
    });
  };
  const Variable* const end = list_.variables + list_.count;
  return !changes_a_scalar(update.variable) &&
         std::none_of(list_.variables, end, [&](const Variable& pending) {
           return changes_a_scalar(pending) || disturbs(pending, update.variable, element_size_) ||
                  disturbs(update.variable, pending, element_size_);
         });
}

void PendingUpdates::add(const VariableUpdate& update) {
  if (empty()) {
    kernel_ = update.kernel;
    element_size_ = update.element_size;
    list_.unless = update.unless;
    std::copy(std::begin(update.scalars), std::end(update.scalars), list_.scalars);
  }
  device::UpdateList::Variable& added = list_.variables[list_.count++];
  added = update.variable;
  added.first_block = static_cast<std::uint32_t>(blocks_);
  blocks_ += blocks_of(update.variable);
}

void PendingUpdates::clear() {
  list_ = {};
  blocks_ = 0;
}

}  // namespace towerflow::cuda
