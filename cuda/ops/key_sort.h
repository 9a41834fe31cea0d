#pragma once

#include <cstdint>

#include "cuda/ops/operands.h"

namespace towerflow::cuda {

/// A stable sort of keys of 32 bits that takes the numbers of their rows along (sort_ids.cu), in a
/// workspace.
class KeySort {
 public:
  /// Throws UnimplementedError if there are 2^31 keys or more; `op` is named then.
  KeySort(Device& device, std::int64_t keys, const char* op);

  std::size_t workspace_bytes() const { return 4 * part() + counts_; }

  struct Rows {
    std::uint32_t* keys;
    std::uint32_t* rows;
  };
  /// Returns where the keys and rows are to be written.
  Rows begin(std::byte* workspace) const { return {words(workspace, 0), words(workspace, 1)}; }
  /// Sorts by the lowest bits of the keys. `given` is what `begin` or an earlier sort returned.
  Rows run(CudaQueue& queue, Rows given, std::byte* workspace, int bits) const;

 private:
  std::size_t part() const;
  std::uint32_t* words(std::byte* workspace, std::size_t number) const {
    return reinterpret_cast<std::uint32_t*>(workspace + number * part());
  }

  std::int64_t keys_;
  unsigned tiles_;
  std::size_t counts_;
  cudaKernel_t count_, scan_, move_;
};

/// Returns the number of bits of keys up to `largest`.
int bits_of(std::int64_t largest);

}  // namespace towerflow::cuda
