#include "core/runtime/variable_version.h"

#include <fmt/format.h>

#include <atomic>

#include "core/graph/error.h"

namespace towerflow {
namespace {

/// Returns a number whose bits all depend on those of `value`. (The finalizer of MurmurHash3)
std::uint64_t mixed_bits(std::uint64_t value) {
  value = (value ^ (value >> 33)) * 0xff51afd7ed558ccdULL;
  value = (value ^ (value >> 33)) * 0xc4ceb9fe1a85ec53ULL;
  return value ^ (value >> 33);
}

}  // namespace

void require_initialized(const VariableStorage& storage) {
  if (storage.initialized.load(std::memory_order_acquire)) return;
  throw errors::FailedPreconditionError(
      fmt::format("Attempting to use uninitialized value {}", storage.name),
      {.hint = "run tf::global_variables_initializer() first, for a local variable "
               "tf::local_variables_initializer(), or restore a checkpoint"});
}

bool is_current(const VariableStorage& replica, const VariableStorage& source) {
  return replica.initialized.load(std::memory_order_acquire) &&
         replica.version.load(std::memory_order_relaxed) ==
             source.version.load(std::memory_order_relaxed);
}

void mark_current(VariableStorage& replica, const VariableStorage& source) {
  replica.version.store(source.version.load(std::memory_order_relaxed), std::memory_order_relaxed);
  replica.initialized.store(true, std::memory_order_release);
}

void mark_changed(VariableStorage& storage, std::uint64_t write) {
  storage.initialized.store(true, std::memory_order_release);
  const std::uint64_t before = storage.version.load(std::memory_order_relaxed);
  const std::uint64_t hash = mixed_bits(before ^ write);
  storage.version.store((hash - writes_of(hash)) | writes_of(before + 1),
                        std::memory_order_relaxed);
}

void mark_failed(VariableStorage& storage) {
  const bool initialized = storage.initialized.load(std::memory_order_relaxed);
  mark_changed(storage, next_execution());
  storage.initialized.store(initialized, std::memory_order_release);
}

std::uint64_t next_execution() {
  static std::atomic<std::uint64_t> executions{0};
  return mixed_bits(++executions);
}

}  // namespace towerflow
