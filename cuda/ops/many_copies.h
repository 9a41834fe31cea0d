#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "cuda/ops/operands.h"

namespace towerflow::cuda {

/// A copy of `rows` rows of `width` elements, which lie `pitch` elements apart, between an input
/// and an output of a kernel.
struct RowsCopy {
  std::size_t input = 0, output = 0;
  std::int64_t rows = 1, width = 0;
  std::int64_t from_offset = 0, from_pitch = 0, to_offset = 0, to_pitch = 0;
};

/// Returns a kernel of copies of elements of a dtype, many in a launch.
std::unique_ptr<PreparedKernel> prepare_copies(Device& device, DType dtype,
                                               std::vector<RowsCopy> copies);

}  // namespace towerflow::cuda
