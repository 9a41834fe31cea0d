#pragma once

#include <cstdint>

#include "cuda/ops/key_sort.h"

namespace towerflow::cuda {

/// The rows of a variable that indices name, in ascending order; of equal rows, those named first
/// come first. Indices are checked before that: if one is no row, there are no rows at all.
class RowOrder {
 public:
  /// `slices` indices of this dtype into `rows` rows.
  RowOrder(Device& device, DType index, std::int64_t slices, std::int64_t rows);

  std::int64_t slices() const { return slices_; }
  std::int64_t rows() const { return rows_; }
  std::size_t workspace_bytes() const { return sort_.workspace_bytes(); }

  struct Sorted {
    const std::uint32_t* keys;   ///< [slices]: rows; those of `rows()` and above are skipped
    const std::uint32_t* order;  ///< [slices]: the numbers of their slices
    const device::DataError* error;
  };
  /// Sorts in the workspace. The queue's error is the CPU's for an index that is no row.
  Sorted run(CudaQueue& queue, const void* indices, std::byte* workspace) const;

 private:
  std::int64_t slices_, rows_;
  KeySort sort_;
  cudaKernel_t keys_, drop_;
  CudaQueue::MakeError make_error_;
};

}  // namespace towerflow::cuda
