#include "cuda/backend/run_parameters.h"

#include "core/graph/error.h"

namespace towerflow::cuda {

std::byte* RunParameters::take(std::size_t bytes) {
  bytes = (bytes + 63) / 64 * 64;
  if (bytes > kBlock) throw errors::InternalError("a kernel has too many parameters of a run");
  if (used_ + bytes > kBlock) {
    ++block_;
    used_ = 0;
  }
  if (block_ == blocks_.size()) blocks_.push_back(driver_->allocate_pinned(kBlock));
  std::byte* const taken = static_cast<std::byte*>(blocks_[block_].get()) + used_;
  used_ += bytes;
  return taken;
}

}  // namespace towerflow::cuda
