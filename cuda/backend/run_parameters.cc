#include "cuda/backend/run_parameters.h"

#include "core/graph/error.h"
#include "cuda/backend/check.h"

namespace towerflow::cuda {

RunParameters::~RunParameters() {
  for (std::byte* block : blocks_) driver_->table().cudaFreeHost(block);
}

std::byte* RunParameters::take(std::size_t bytes) {
  bytes = (bytes + 63) / 64 * 64;
  if (bytes > kBlock) throw errors::InternalError("a kernel has too many parameters of a run");
  if (used_ + bytes > kBlock) {
    ++block_;
    used_ = 0;
  }
  if (block_ == blocks_.size()) {
    void* memory = nullptr;
    TOWERFLOW_CUDA(driver_->table(), cudaHostAlloc(&memory, kBlock, cudaHostAllocPortable));
    blocks_.push_back(static_cast<std::byte*>(memory));
  }
  std::byte* const taken = blocks_[block_] + used_;
  used_ += bytes;
  return taken;
}

}  // namespace towerflow::cuda
