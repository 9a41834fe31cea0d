#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "core/device/cpu/launch.h"

namespace towerflow::nn {

/// How many slices an elementwise pass over `elements` is cut into.
inline int slices_of(std::int64_t elements) {
  constexpr std::int64_t kPerSlice = 1 << 15;  // elements: below that a second core costs more
  return static_cast<int>(std::clamp<std::int64_t>(elements / kPerSlice, 1, 16));
}

/// A kernel of one phase whose slices are parts of 0 .. total - 1: `function(range, inputs,
/// outputs)` does one part. Borders are multiples of `unit`.
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

/// Elements 0 .. elements - 1, cut at multiples of 64.
template <class F>
std::unique_ptr<PreparedKernel> elementwise_kernel(std::int64_t elements, F function,
                                                   std::vector<InPlacePair> in_place = {}) {
  return sliced_kernel(
      std::make_unique<RangeKernel<F>>(elements, slices_of(elements), 64, std::move(function)),
      std::move(in_place));
}

/// Rows 0 .. rows - 1 of `row_elements` each.
template <class F>
std::unique_ptr<PreparedKernel> rows_kernel(std::int64_t rows, std::int64_t row_elements,
                                            F function, std::vector<InPlacePair> in_place = {}) {
  const int slices = static_cast<int>(
      std::min<std::int64_t>(slices_of(rows * row_elements), std::max<std::int64_t>(rows, 1)));
  return sliced_kernel(std::make_unique<RangeKernel<F>>(rows, slices, 1, std::move(function)),
                       std::move(in_place));
}

/// A kernel that is given some of the inputs alone, in the order of `picked`.
class PickedInputs final : public CpuKernel {
 public:
  PickedInputs(std::unique_ptr<CpuKernel> kernel, std::initializer_list<std::size_t> picked)
      : kernel_(std::move(kernel)), picked_(picked) {}
  std::size_t workspace_bytes() const override { return kernel_->workspace_bytes(); }
  int phases() const override { return kernel_->phases(); }
  int slices(int phase) const override { return kernel_->slices(phase); }
  bool may_fail() const override { return kernel_->may_fail(); }
  void run(int phase, int slice, const void* const* inputs, void* const* outputs,
           std::byte* workspace) const override {
    const void* operands[kMost] = {};
    for (std::size_t i = 0; i < picked_.size(); ++i) operands[i] = inputs[picked_[i]];
    kernel_->run(phase, slice, operands, outputs, workspace);
  }

 private:
  static constexpr std::size_t kMost = 4;
  std::unique_ptr<CpuKernel> kernel_;
  std::vector<std::size_t> picked_;
};

template <class T>
const T* in(const void* const* inputs, std::size_t index) {
  return static_cast<const T*>(inputs[index]);
}
template <class T>
T* out(void* const* outputs, std::size_t index) {
  return static_cast<T*>(outputs[index]);
}

/// Adds a kernel that takes input `typed` of one of `dtypes`.
inline void add_kernel(KernelTable& table, const char* op, const char* label, std::size_t typed,
                       std::initializer_list<DType> dtypes,
                       std::unique_ptr<PreparedKernel> (*prepare)(const KernelRequest&)) {
  table.add({.op = op,
             .label = label,
             .accepts =
                 [typed, allowed = std::vector<DType>(dtypes)](const KernelRequest& request) {
                   return std::find(allowed.begin(), allowed.end(), request.inputs[typed].dtype) !=
                          allowed.end();
                 },
             .prepare = prepare});
}

/// Calls `make.template operator()<T>()` with the C++ type of a real `dtype`, as listed in
/// kRealNumbers.
template <class Make>
std::unique_ptr<PreparedKernel> for_real_type(DType dtype, Make make) {
  std::unique_ptr<PreparedKernel> kernel;
  dispatch_dtype(dtype, [&]<class T>() {
    if constexpr (!std::is_same_v<T, bool>) kernel = make.template operator()<T>();
  });
  return kernel;
}

}  // namespace towerflow::nn
