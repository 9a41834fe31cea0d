#pragma once

#include <functional>
#include <memory>

#include "core/device/cpu/cpu_kernel.h"
#include "ops/kernel_dims.h"

namespace towerflow {

/// Copies elements from one strided view to another of the same sizes. Strides are in elements.
///
/// The common core of tile, concat, transpose, slice, stack and broadcast_to. Allocates no memory.
class StridedCopy {
 public:
  int input = 0;
  int output = 0;
  std::int64_t from_offset = 0;
  std::int64_t to_offset = 0;

  /// Appends a dimension, outermost first; merges it with the previous one if the strides allow.
  void add(std::int64_t size, std::int64_t from_stride, std::int64_t to_stride);
  std::int64_t elements() const;
  /// Copies part `slice` of `slices`.
  void run(DType dtype, const void* from, void* to, int slice, int slices) const;

 private:
  /// Returns whether rows of the result are columns of the input whose elements are adjacent.
  bool is_transpose() const;
  template <class T>
  void run_as(const T* from, T* to, int slice, int slices) const;
  template <class T>
  void transpose_as(const T* from, T* to, int slice, int slices) const;

  int rank_ = 0;
  std::int64_t sizes_[2 * kMaxKernelRank];
  std::int64_t from_[2 * kMaxKernelRank];
  std::int64_t to_[2 * kMaxKernelRank];
};

/// Fills in the copy with index `part`.
using CopyPlan = std::function<void(std::size_t part, StridedCopy& copy)>;
/// As CopyPlan, called at launch with the input addresses; may throw to reject input values.
using LaunchCopyPlan =
    std::function<void(const void* const* inputs, std::size_t part, StridedCopy& copy)>;

/// Makes a kernel of `parts` copies between inputs and outputs of `request`, all of the dtype of
/// its first output. The copies are planned at each launch.
std::unique_ptr<PreparedKernel> strided_copy_kernel(const KernelRequest& request, std::size_t parts,
                                                    CopyPlan plan);
std::unique_ptr<PreparedKernel> strided_copy_kernel(const KernelRequest& request, std::size_t parts,
                                                    LaunchCopyPlan plan);

/// Returns the row-major strides of `shape` in elements.
std::vector<std::int64_t> dense_strides(const Shape& shape);

}  // namespace towerflow
