#pragma once

#include <cstdint>

#include "cuda/ops/operands.h"

namespace towerflow::cuda {

/// Slices of a tensor that rows of indices name, as numbers from 0 on.
class SliceRows {
 public:
  /// Throws InvalidArgumentError if the indices have more numbers than the tensor has dimensions.
  SliceRows(Device& device, const TensorDesc& indices, const Shape& shape);

  std::int64_t rows() const { return rows_; }      ///< of indices
  std::int64_t slices() const { return slices_; }  ///< of the tensor
  std::int64_t width() const { return width_; }    ///< elements of a slice
  std::size_t workspace_bytes() const {
    return rounded_to_pack(static_cast<std::size_t>(rows_) * sizeof(std::int64_t));
  }
  /// Writes the numbers into the workspace, -1 for what is no slice; the queue's error is then that
  /// of the CPU.
  const std::int64_t* run(CudaQueue& queue, const void* indices, std::byte* workspace) const;

 private:
  std::int64_t rows_ = 1, slices_ = 1, width_ = 1;
  cudaKernel_t kernel_;
  device::SliceShape shape_;
  CudaQueue::MakeError make_error_;
};

}  // namespace towerflow::cuda
