#include <fmt/format.h>

#include "core/device/cpu/launch.h"
#include "ops/math/reduction.h"
#include "ops/math/reduction_dims.h"
#include "ops/math/reduction_loops.h"

namespace towerflow {
namespace {

/// Returns for each axis whether it is reduced, from the value of input 1.
std::vector<bool> axes_of(const KernelRequest& request) {
  const std::size_t rank = request.inputs[0].shape.rank();
  std::vector<bool> reduced(rank, false);
  for (const std::int64_t given : integers_of(request.values.at(1))) {
    const std::size_t axis = checked_axis(given, rank);
    if (reduced[axis]) {
      throw errors::InvalidArgumentError(
          fmt::format("Invalid reduction arguments: Axes contains duplicate dimension: {}", axis));
    }
    reduced[axis] = true;
  }
  return reduced;
}

/// Reduces elements of type T with R, whose result type may be wider. If there is only one result,
/// the slices of phase 0 write partial results, which phase 1 joins in slice order.
template <class T, class R>
class ReductionKernel final : public CpuKernel {
  using Total = reductions::Result<R>;

 public:
  ReductionKernel(const KernelRequest& request, bool mean, const std::vector<bool>& reduced)
      : in_(request.inputs[0].shape),
        outputs_(request.outputs[0].shape.elements()),
        slices_(partial_slices(in_.elements())),
        mean_(mean) {
    std::copy(reduced.begin(), reduced.end(), reduced_);
    if (ReductionDims(in_, reduced_).count(false) != outputs_) {
      throw errors::InvalidArgumentError(
          "the axes of a reduction do not give the shape that the graph expects");
    }
    partials_ = layout_.add(static_cast<std::size_t>(slices_) * sizeof(Total));
    scratch_ = layout_.add(static_cast<std::size_t>(outputs_) * sizeof(Total));
  }
  std::size_t workspace_bytes() const override { return layout_.bytes(); }
  int phases() const override { return outputs_ == 1 && slices_ > 1 ? 2 : 1; }
  int slices(int phase) const override { return phase == 0 ? slices_ : 1; }
  bool may_fail() const override { return false; }

  void run(int phase, int slice, const void* const* inputs, void* const* outputs,
           std::byte* workspace) const override {
    if (outputs_ == 0) return;
    Total* partials = reinterpret_cast<Total*>(workspace + partials_);
    T* out = static_cast<T*>(outputs[0]);
    if (phase == 1) {
      Total total = R::start();
      for (int i = 0; i < slices_; ++i) total = R::join(total, partials[i]);
      out[0] = finish_total(total, in_.elements());
      return;
    }
    const T* x = static_cast<const T*>(inputs[0]);
    if (outputs_ == 1) return reduce_all(x, slice, partials, out);
    const ReductionDims dims(in_, reduced_);
    if (dims.has_single_run())
      reduce_run(dims, x, slice, out, reinterpret_cast<Total*>(workspace + scratch_));
    else
      dims.reduced[dims.rank - 1]
          ? reduce_general(dims, x, slice, out)
          : reduce_to_rows(dims, x, slice, out, reinterpret_cast<Total*>(workspace + scratch_));
  }

 private:
  T finish_total(Total value, std::int64_t count) const {
    if (!mean_) return static_cast<T>(value);
    if constexpr (std::is_floating_point_v<T>) {
      return value / static_cast<T>(count);
    } else {
      return count == 0 ? T(0) : static_cast<T>(value / static_cast<Total>(count));
    }
  }

  void reduce_all(const T* x, int slice, Total* partials, T* out) const {
    const SliceRange part = slice_range(in_.elements(), slices_, slice, 4096);
    const Total value = reductions::reduce_row<T, R>(x + part.begin, part.size());
    if (slices_ == 1)
      out[0] = finish_total(value, in_.elements());
    else
      partials[slice] = value;
  }

  /// Reduces [outer, run, inner], by rows if inner is 1, else by columns. The slices divide outer
  /// if it is large enough, else inner.
  void reduce_run(const ReductionDims& dims, const T* x, int slice, T* out, Total* scratch) const {
    const bool run_first = dims.rank > 0 && dims.reduced[0];
    const std::size_t at = run_first ? 0 : 1;
    const std::int64_t outer = run_first || dims.rank == 0 ? 1 : dims.size[0];
    const std::int64_t run = at < dims.rank ? dims.size[at] : 1;
    const std::int64_t inner = at + 1 < dims.rank ? dims.size[at + 1] : 1;
    if (run == 1) {  // one element per result: only joined with the start value
      const SliceRange part = slice_range(outer * inner, slices_, slice, 16);
      for (std::int64_t i = part.begin; i < part.end; ++i) {
        out[i] = finish_total(R::join(R::start(), x[i]), 1);
      }
      return;
    }
    if (inner == 1) {
      const SliceRange part = slice_range(outer, slices_, slice);
      for (std::int64_t i = part.begin; i < part.end; ++i) {
        out[i] = finish_total(reductions::reduce_row<T, R>(x + i * run, run), run);
      }
      return;
    }
    const bool by_outer = outer >= slices_;
    const SliceRange rows = by_outer ? slice_range(outer, slices_, slice) : SliceRange{0, outer};
    const SliceRange columns =
        by_outer ? SliceRange{0, inner} : slice_range(inner, slices_, slice, 16);
    if (columns.size() == 0) return;
    for (std::int64_t i = rows.begin; i < rows.end; ++i) {
      const std::int64_t first = i * inner + columns.begin;
      const Total* sums = reduce_block(x + i * run * inner + columns.begin, run, inner,
                                       columns.size(), out + first, scratch + first);
      for (std::int64_t j = 0; j < columns.size(); ++j) out[first + j] = finish_total(sums[j], run);
    }
  }

  /// Reduces columns into `out`, or into `scratch` if the totals are wider than the results.
  const Total* reduce_block(const T* x, std::int64_t run, std::int64_t inner, std::int64_t columns,
                            T* out, Total* scratch) const {
    Total* sums = scratch;
    if constexpr (std::is_same_v<T, Total>) sums = out;
    reductions::reduce_columns<T, R>(x, run, inner, columns, sums, scratch);
    return sums;
  }

  /// Handles several reduced dimensions, the last one reduced: computes each result by itself.
  void reduce_general(const ReductionDims& dims, const T* x, int slice, T* out) const {
    const std::int64_t count = dims.count(true);
    const std::int64_t width = dims.size[dims.rank - 1];
    const SliceRange part = slice_range(outputs_, slices_, slice);
    for (std::int64_t i = part.begin; i < part.end; ++i) {
      const T* base = x + dims.offset(i, false, dims.rank);
      Total total = R::start();
      for (std::int64_t k = 0; k < count / std::max<std::int64_t>(width, 1); ++k) {
        const T* run = base + dims.offset(k, true, dims.rank - 1);
        total = R::join(total, reductions::reduce_row<T, R>(run, width));
      }
      out[i] = finish_total(total, count);
    }
  }

  /// Handles several reduced dimensions, the last one kept: each row of results joins rows of x.
  void reduce_to_rows(const ReductionDims& dims, const T* x, int slice, T* out,
                      Total* scratch) const {
    const std::int64_t count = dims.count(true);
    const std::int64_t width = dims.size[dims.rank - 1];
    const SliceRange part = slice_range(outputs_ / width, slices_, slice);
    for (std::int64_t row = part.begin; row < part.end; ++row) {
      const std::int64_t first = row * width;
      const T* base = x + dims.offset(first, false, dims.rank);
      Total* totals = scratch + first;
      if constexpr (std::is_same_v<T, Total>) totals = out + first;
      std::fill_n(totals, width, R::start());
      for (std::int64_t k = 0; k < count; ++k) {
        reductions::join_rows<T, R>(totals, base + dims.offset(k, true, dims.rank), width);
      }
      for (std::int64_t j = 0; j < width; ++j) out[first + j] = finish_total(totals[j], count);
    }
  }

  Shape in_;
  std::int64_t outputs_;
  int slices_;
  bool mean_;
  bool reduced_[kMaxKernelRank] = {};
  WorkspaceLayout layout_;
  std::size_t partials_ = 0;
  std::size_t scratch_ = 0;
};

template <template <class> class R>
std::unique_ptr<CpuKernel> number_kernel(const KernelRequest& request, bool mean,
                                         const std::vector<bool>& reduced) {
  std::unique_ptr<CpuKernel> kernel;
  dispatch_dtype(request.inputs[0].dtype, [&]<class T>() {
    if constexpr (!std::is_same_v<T, bool>) {
      kernel = std::make_unique<ReductionKernel<T, R<T>>>(request, mean, reduced);
    }
  });
  return kernel;
}

template <template <class> class R>
std::unique_ptr<CpuKernel> logic_kernel(const KernelRequest& request,
                                        const std::vector<bool>& reduced) {
  return std::make_unique<ReductionKernel<bool, R<bool>>>(request, false, reduced);
}

std::unique_ptr<CpuKernel> make_kernel(Reduction reduction, const KernelRequest& request,
                                       const std::vector<bool>& reduced) {
  switch (reduction) {
    case Reduction::sum:
      return number_kernel<reductions::Sum>(request, false, reduced);
    case Reduction::mean:
      return number_kernel<reductions::MeanSum>(request, true, reduced);
    case Reduction::prod:
      return number_kernel<reductions::Prod>(request, false, reduced);
    case Reduction::max:
      return number_kernel<reductions::Max>(request, false, reduced);
    case Reduction::min:
      return number_kernel<reductions::Min>(request, false, reduced);
    case Reduction::all:
      return logic_kernel<reductions::All>(request, reduced);
    case Reduction::any:
      return logic_kernel<reductions::Any>(request, reduced);
  }
  return nullptr;
}

}  // namespace

std::unique_ptr<PreparedKernel> reduction_kernel(Reduction reduction,
                                                 const KernelRequest& request) {
  check_kernel_rank(request);
  return sliced_kernel(make_kernel(reduction, request, axes_of(request)));
}

std::unique_ptr<PreparedKernel> fixed_reduction_kernel(Reduction reduction,
                                                       const KernelRequest& request,
                                                       std::vector<bool> reduced) {
  check_kernel_rank(request);
  return sliced_kernel(make_kernel(reduction, request, reduced));
}

std::vector<bool> axis_flags(const std::vector<std::int64_t>& axes, std::size_t rank) {
  std::vector<bool> flags(rank, false);
  for (const std::int64_t axis : axes) flags[checked_axis(axis, rank)] = true;
  return flags;
}

}  // namespace towerflow
