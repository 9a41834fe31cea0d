#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "ops/variables/slices.h"
#include "ops/variables/update_kernel.h"

namespace towerflow {

/// Updates the rows that IndexedSlices select, of one gradient or of several towers concatenated.
/// The inputs are those of the dense kernel, with values [n, d1, ...] of each tower in place of
/// gradients, and the indices of all towers after the gradients' inputs.
///
/// Slices of the same row are summed in order, starting from zero, before the row is updated once,
/// as TensorFlow's optimizers do. With `kEveryRow` the other rows are updated too, with a gradient
/// of zero. Phase 0 sorts the slices by row, and fails before anything is written.
template <class T, class Rule, bool kEveryRow>
class UpdateRowsKernel final : public CpuKernel {
 public:
  UpdateRowsKernel(const KernelRequest& request, UpdateInputs layout, GradientForm form)
      : layout_(layout), form_(form), values_(first_gradient<Rule>(layout)) {
    rows_ = slice_rows(request.inputs[0].shape, request.inputs[values_ + form.inputs()]);
    first_.push_back(0);
    for (std::size_t tower = 0; tower < static_cast<std::size_t>(form.towers); ++tower) {
      first_.push_back(first_.back() + request.inputs[values_ + tower].shape.size(0));
    }
    if (first_.back() != rows_.slices) {
      throw errors::InvalidArgumentError(
          fmt::format("{} slices, but {} indices", first_.back(), rows_.slices));
    }
    slices_ = row_slices(kEveryRow ? rows_.rows : rows_.slices, rows_.width);
  }

  std::size_t workspace_bytes() const override {
    return static_cast<std::size_t>(rows_.slices) * sizeof(Entry);
  }
  int phases() const override { return 2; }
  int slices(int phase) const override { return phase == 0 ? 1 : slices_; }

  void run(int phase, int slice, const void* const* inputs, void* const*,
           std::byte* workspace) const override {
    Entry* entries = reinterpret_cast<Entry*>(workspace);
    if (phase == 0) return sort(inputs[values_ + form_.inputs()], entries);
    const Update update{*this, inputs};
    if constexpr (kEveryRow) {
      const SliceRange rows = slice_range(rows_.rows, slices_, slice);
      const Entry* at = std::lower_bound(entries, entries + rows_.slices, Entry{rows.begin, 0});
      for (std::int64_t row = rows.begin; row < rows.end; ++row) {
        const Entry* end = end_of_row(at, entries, row);
        update.row(row, at, end);
        at = end;
      }
    } else {
      const SliceRange part = slice_range(rows_.slices, slices_, slice);
      const Entry* at = entries + part.begin;
      // A row belongs to the part that contains its first slice.
      if (part.begin > 0 && part.size() > 0) at = end_of_row(at, entries, at[-1].row);
      while (at < entries + part.end) {
        const Entry* end = end_of_row(at, entries, at->row);
        update.row(at->row, at, end);
        at = end;
      }
    }
  }

 private:
  struct Entry {
    std::int64_t row, slice;  // slices are numbered across all towers
    auto operator<=>(const Entry&) const = default;
  };

  class Update {
   public:
    Update(const UpdateRowsKernel& kernel, const void* const* inputs)
        : kernel_(kernel),
          inputs_(inputs),
          rule_(rule_of<T, Rule>(kernel.layout_, inputs)),
          numbers_(kernel.form_, inputs + kernel.values_) {}

    /// Updates a row by the slices from `begin` to `end`, some columns at a time.
    void row(std::int64_t row, const Entry* begin, const Entry* end) const {
      constexpr std::int64_t kColumns = 256;
      const std::int64_t width = kernel_.rows_.width;
      for (std::int64_t column = 0; column < width; column += kColumns) {
        const std::int64_t n = std::min(kColumns, width - column);
        std::array<T, kColumns> sum;
        std::fill_n(sum.begin(), n, T(0));
        for (const Entry* entry = begin; entry < end; ++entry) {
          add(entry->slice, column, n, sum.data());
        }
        update_elements<T>(rule_, inputs_, row * width + column, sum.data(), n);
      }
    }

   private:
    void add(std::int64_t slice, std::int64_t column, std::int64_t n, T* sum) const {
      const auto after = std::upper_bound(kernel_.first_.begin(), kernel_.first_.end(), slice);
      const auto tower = static_cast<std::size_t>(after - kernel_.first_.begin()) - 1;
      const T* x = static_cast<const T*>(inputs_[kernel_.values_ + tower]) +
                   (slice - kernel_.first_[tower]) * kernel_.rows_.width + column;
      // Multiplying or dividing by 1 changes nothing.
      const T weight = kernel_.form_.weighted ? numbers_.weights[tower] : T(1);
      const T divisor = numbers_.divisor;
      if (divisor == T(1)) {
        for (std::int64_t i = 0; i < n; ++i) sum[i] += x[i] * weight;
      } else {
        for (std::int64_t i = 0; i < n; ++i) sum[i] += x[i] * weight / divisor;
      }
    }

    const UpdateRowsKernel& kernel_;
    const void* const* inputs_;
    Rule rule_;
    FormScalars<T> numbers_;
  };

  void sort(const void* indices, Entry* entries) const {
    rows_.check(indices);
    rows_.for_each(indices, [&](std::int64_t slice, std::int64_t row) {
      entries[slice] = {row, slice};
    });
    std::sort(entries, entries + rows_.slices);
  }

  const Entry* end_of_row(const Entry* at, const Entry* entries, std::int64_t row) const {
    while (at < entries + rows_.slices && at->row == row) ++at;
    return at;
  }

  UpdateInputs layout_;
  GradientForm form_;
  std::size_t values_;
  SliceRows rows_;
  std::vector<std::int64_t> first_;  // the first slice of each tower, then the total
  int slices_;
};

template <template <class> class Rule, bool kEveryRow = false>
std::unique_ptr<PreparedKernel> update_rows_kernel(const KernelRequest& request,
                                                   UpdateInputs layout, const GradientForm& form) {
  if (request.inputs[0].dtype == DType::float32) {
    return sliced_kernel(
        std::make_unique<UpdateRowsKernel<float, Rule<float>, kEveryRow>>(request, layout, form));
  }
  return sliced_kernel(
      std::make_unique<UpdateRowsKernel<double, Rule<double>, kEveryRow>>(request, layout, form));
}

}  // namespace towerflow
