#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/device/cpu/launch.h"

namespace towerflow {

/// A kernel with one phase, whose slices partition 0 .. total - 1: `function(range, inputs,
/// outputs)` processes one part. Parts begin at multiples of `unit`.
template <class F>
class RangeKernel final : public CpuKernel {
 public:
  RangeKernel(std::int64_t total, int slices, std::int64_t unit, F function)
      : total_(total), slices_(slices), unit_(unit), function_(std::move(function)) {}
  int slices(int) const override { return slices_; }
  bool may_fail() const override { return false; }
  void run(int, int slice, const void* const* inputs, void* const* outputs,
           std::byte*) const override {
    const SliceRange range = slice_range(total_, slices_, slice, unit_);
    if (range.size() > 0) function_(range, inputs, outputs);
  }

 private:
  std::int64_t total_;
  int slices_;
  std::int64_t unit_;
  F function_;
};

/// Makes a kernel over elements 0 .. elements - 1, split at multiples of 64.
template <class F>
std::unique_ptr<PreparedKernel> elementwise_kernel(std::int64_t elements, F function,
                                                   std::vector<InPlacePair> in_place = {}) {
  return sliced_kernel(
      std::make_unique<RangeKernel<F>>(elements, loop_slices(elements), 64, std::move(function)),
      std::move(in_place));
}

/// Makes a kernel over rows 0 .. rows - 1 of `row_elements` elements each.
template <class F>
std::unique_ptr<PreparedKernel> rows_kernel(std::int64_t rows, std::int64_t row_elements,
                                            F function, std::vector<InPlacePair> in_place = {}) {
  return sliced_kernel(std::make_unique<RangeKernel<F>>(rows, row_slices(rows, row_elements), 1,
                                                        std::move(function)),
                       std::move(in_place));
}

/// Calls `make.template operator()<T>()` with the C++ type of `dtype`, one of kRealNumbers.
template <class Make>
std::unique_ptr<PreparedKernel> for_real_type(DType dtype, Make make) {
  std::unique_ptr<PreparedKernel> kernel;
  dispatch_dtype(dtype, [&]<class T>() {
    if constexpr (!std::is_same_v<T, bool>) kernel = make.template operator()<T>();
  });
  return kernel;
}

}  // namespace towerflow
