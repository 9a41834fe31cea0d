#pragma once

#include <cstdint>
#include <vector>

#include "cuda/ops/operands.h"

namespace towerflow::cuda {

/// A tensor of the size `inner` in each dimension, padded to `padded`.
struct PadSizes {
  std::vector<std::int64_t> inner, before, padded;
};

/// Pads a tensor with one value or by mirroring, or rolls it.
class Padding {
 public:
  using Mode = device::PadShape::Mode;

  /// `op` is named if there are too many dimensions or elements.
  Padding(Device& device, const char* op, DType dtype, PadSizes sizes, Mode mode,
          const device::PadValue& value = {});
  std::int64_t elements() const { return elements_; }  ///< of the result
  void run(CudaQueue& queue, const void* from, void* to) const;

 private:
  std::int64_t elements_ = 1;
  cudaKernel_t kernel_;
  device::PadShape shape_;
  device::PadValue value_;
};

}  // namespace towerflow::cuda
