#pragma once

#include <cstdint>

#include "ops/kernel_dims.h"

namespace towerflow {

/// The dimensions of a reduction, with neighbours of a kind (reduced or kept) merged. Small enough
/// for the stack of each slice.
struct ReductionDims {
  std::size_t rank = 0;
  std::int64_t size[kMaxKernelRank];
  std::int64_t stride[kMaxKernelRank];
  bool reduced[kMaxKernelRank];

  ReductionDims(const Shape& in, const bool* flags) {
    for (std::size_t i = 0; i < in.rank(); ++i) {
      if (in.size(i) == 1) continue;
      if (rank > 0 && reduced[rank - 1] == flags[i]) {
        size[rank - 1] *= in.size(i);
      } else {
        size[rank] = in.size(i);
        reduced[rank++] = flags[i];
      }
    }
    std::int64_t step = 1;
    for (std::size_t i = rank; i-- > 0;) {
      stride[i] = step;
      step *= size[i];
    }
  }
  std::int64_t count(bool of_reduced) const {
    std::int64_t product = 1;
    for (std::size_t i = 0; i < rank; ++i) product *= reduced[i] == of_reduced ? size[i] : 1;
    return product;
  }
  /// Returns whether at most one dimension is reduced, after merging.
  bool has_single_run() const { return rank <= 2 || (rank == 3 && reduced[1]); }
  /// Returns the offset of the `index`-th combination of those of the first `end` dimensions that
  /// are reduced, or kept.
  std::int64_t offset(std::int64_t index, bool of_reduced, std::size_t end) const {
    std::int64_t at = 0;
    for (std::size_t i = end; i-- > 0;) {
      if (reduced[i] != of_reduced) continue;
      at += index % size[i] * stride[i];
      index /= size[i];
    }
    return at;
  }
};

}  // namespace towerflow
