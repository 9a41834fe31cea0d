#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "cuda/device/arguments.h"

namespace towerflow::cuda {

/// The update of one variable by a rule of cuda/device/update.cu.
struct VariableUpdate {
  cudaKernel_t kernel = nullptr;
  std::size_t element_size = 0;
  device::UpdateList::Variable variable;  ///< `first_block` is not set
  const void* scalars[device::kMaxUpdateScalars] = {};
  const device::DataError* unless = nullptr;  ///< nothing is written if it has found something
};

/// Updates that follow each other in a stream and are made by one launch: they have the same rule
/// and scalars, and none reads or writes what another writes.
class PendingUpdates {
 public:
  bool empty() const { return list_.count == 0; }
  /// Returns whether one launch can make `update` and those that are pending.
  bool can_take(const VariableUpdate& update) const;
  void add(const VariableUpdate& update);
  void clear();

  cudaKernel_t kernel() const { return kernel_; }
  const device::UpdateList& list() const { return list_; }
  std::int64_t blocks() const { return blocks_; }

 private:
  cudaKernel_t kernel_ = nullptr;
  std::size_t element_size_ = 0;
  device::UpdateList list_;
  std::int64_t blocks_ = 0;
};

}  // namespace towerflow::cuda
