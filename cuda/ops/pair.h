#pragma once

#include <cstdint>
#include <vector>

#include "cuda/ops/operands.h"

namespace towerflow::cuda {

/// Returns how the kernels of cuda/device/binary.cu read inputs 0 and 1 of a request, whose strides
/// are given at the positions of the result; 0 repeats an input.
device::BinaryShape pair_shape(const KernelRequest& request, const std::vector<std::int64_t>& a,
                               const std::vector<std::int64_t>& b);

}  // namespace towerflow::cuda
