#include "ops/simd/kernels.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/graph/error.h"
#include "ops/simd/loops.h"

namespace towerflow::simd {
namespace {

constexpr std::int64_t kSliceAlignment = 16;  // slice boundaries are multiples of this, in elements

class Sum final : public CpuKernel {
 public:
  Sum(std::int64_t n, bool mean) : n_(n), mean_(mean), slices_(partial_slices(n)) {}

  std::size_t workspace_bytes() const override {
    return static_cast<std::size_t>(slices_) * sizeof(float);
  }
  int phases() const override { return 2; }
  int slices(int phase) const override { return phase == 0 ? slices_ : 1; }
  bool may_fail() const override { return false; }
  void run(int phase, int slice, const void* const* inputs, void* const* outputs,
           std::byte* workspace) const override {
    float* parts = reinterpret_cast<float*>(workspace);
    if (phase == 0) {
      const SliceRange part = slice_range(n_, slices_, slice, kSliceAlignment);
      parts[slice] = loops().sum(static_cast<const float*>(inputs[0]) + part.begin, part.size());
      return;
    }
    float sum = parts[0];
    for (int i = 1; i < slices_; ++i) sum += parts[i];
    *static_cast<float*>(outputs[0]) = mean_ ? sum / static_cast<float>(n_) : sum;
  }

 private:
  std::int64_t n_;
  bool mean_;
  int slices_;
};

class SparseSoftmaxXent final : public CpuKernel {
 public:
  SparseSoftmaxXent(std::int64_t rows, std::int64_t classes, bool int32_labels)
      : rows_(rows),
        classes_(classes),
        int32_labels_(int32_labels),
        slices_(row_slices(rows, classes)) {
    if (rows > 0 && classes < 1)
      throw errors::InvalidArgumentError("The softmax cross entropy needs at least one class.");
  }

  std::size_t workspace_bytes() const override {
    return int32_labels_ ? static_cast<std::size_t>(rows_) * sizeof(std::int64_t) : 0;
  }
  bool may_overwrite(int input, int output) const override { return input == 0 && output == 1; }
  int slices(int) const override { return slices_; }
  void run(int, int slice, const void* const* inputs, void* const* outputs,
           std::byte* workspace) const override {
    const SliceRange part = slice_range(rows_, slices_, slice);
    const std::int64_t* labels = static_cast<const std::int64_t*>(inputs[1]);
    if (int32_labels_) {
      std::int64_t* wide = reinterpret_cast<std::int64_t*>(workspace);
      std::copy_n(static_cast<const std::int32_t*>(inputs[1]) + part.begin, part.size(),
                  wide + part.begin);
      labels = wide;
    }
    for (std::int64_t i = part.begin; i < part.end; ++i)
      if (labels[i] < 0 || labels[i] >= classes_)
        throw errors::InvalidArgumentError(
            fmt::format("Received a label value of {} which is outside the valid range of [0, {}).",
                        labels[i], classes_));
    loops().softmax_xent(static_cast<const float*>(inputs[0]), labels,
                         static_cast<float*>(outputs[0]), static_cast<float*>(outputs[1]),
                         part.begin, part.end, classes_);
  }

 private:
  std::int64_t rows_, classes_;
  bool int32_labels_;
  int slices_;
};

}  // namespace

std::unique_ptr<CpuKernel> make_sum(std::int64_t n, bool mean) {
  return std::make_unique<Sum>(n, mean);
}

std::unique_ptr<CpuKernel> make_sparse_softmax_xent(std::int64_t rows, std::int64_t classes,
                                                    bool int32_labels) {
  return std::make_unique<SparseSoftmaxXent>(rows, classes, int32_labels);
}

}  // namespace towerflow::simd
