#include <fmt/format.h>

#include "core/device/cpu/launch.h"
#include "ops/math/reduction.h"
#include "ops/math/reduction_dims.h"
#include "ops/math/reduction_loops.h"

namespace towerflow {
namespace {

/// R reduces elements of type T. Phase 0 reduces; where there is one result only, slices leave
/// partial results that phase 1 joins in their order.
template <class T, class R>
class ReductionKernel final : public CpuKernel {
 public:
  ReductionKernel(const KernelRequest& request, bool mean, std::vector<bool> fixed)
      : in_(request.inputs[0].shape),
        outputs_(request.outputs[0].shape.elements()),
        slices_(loop_slices(in_.elements())),
        mean_(mean),
        is_fixed_(request.inputs.size() < 2 || !fixed.empty() || in_.rank() == 0),
        axes_(is_fixed_ ? 0 : request.inputs[1].shape.elements()),
        axis_dtype_(is_fixed_ ? DType::int32 : request.inputs[1].dtype) {
    for (std::size_t i = 0; i < fixed.size(); ++i) fixed_[i] = fixed[i];
    partials_ = layout_.add(static_cast<std::size_t>(slices_) * sizeof(T));
    scratch_ = layout_.add(static_cast<std::size_t>(outputs_) * sizeof(T));
  }
  std::size_t workspace_bytes() const override { return layout_.bytes(); }
  int phases() const override { return outputs_ == 1 && slices_ > 1 ? 2 : 1; }
  int slices(int phase) const override { return phase == 0 ? slices_ : 1; }

  void run(int phase, int slice, const void* const* inputs, void* const* outputs,
           std::byte* workspace) const override {
    if (outputs_ == 0) return;
    T* partials = reinterpret_cast<T*>(workspace + partials_);
    T* out = static_cast<T*>(outputs[0]);
    if (phase == 1) {
      T total = R::start();
      for (int i = 0; i < slices_; ++i) total = R::join(total, partials[i]);
      out[0] = finished(total, in_.elements());
      return;
    }
    bool flags[kMaxKernelRank];
    read_axes(inputs, flags);
    const ReductionDims dims(in_, flags);
    if (dims.count(false) != outputs_) {
      throw errors::InvalidArgumentError("axes of a reduction that do not give the result's shape");
    }
    const T* x = static_cast<const T*>(inputs[0]);
    if (outputs_ == 1) return reduce_all(x, slice, partials, out);
    if (dims.single_run())
      reduce_run(dims, x, slice, out, reinterpret_cast<T*>(workspace + scratch_));
    else
      reduce_general(dims, x, slice, out);
  }

 private:
  void read_axes(const void* const* inputs, bool* flags) const {
    std::copy_n(fixed_, kMaxKernelRank, flags);
    for (std::int64_t i = 0; i < axes_; ++i) {
      flags[checked_axis(integer_at(axis_dtype_, inputs[1], i), in_.rank())] = true;
    }
  }

  T finished(T value, std::int64_t count) const {
    if (!mean_) return value;
    if constexpr (std::is_floating_point_v<T>) {
      return value / static_cast<T>(count);
    } else {
      using Wide = std::conditional_t<std::is_unsigned_v<T>, std::uint64_t, std::int64_t>;
      return count == 0 ? T(0)
                        : static_cast<T>(static_cast<Wide>(value) / static_cast<Wide>(count));
    }
  }

  void reduce_all(const T* x, int slice, T* partials, T* out) const {
    const SliceRange part = slice_range(in_.elements(), slices_, slice, 4096);
    const T value = reductions::reduce_row<T, R>(x + part.begin, part.size());
    if (slices_ == 1)
      out[0] = finished(value, in_.elements());
    else
      partials[slice] = value;
  }

  /// [outer, run, inner]: rows where inner is 1, else columns; slices take part of outer if it is
  /// large enough, else of inner.
  void reduce_run(const ReductionDims& dims, const T* x, int slice, T* out, T* scratch) const {
    const bool run_first = dims.rank > 0 && dims.reduced[0];
    const std::size_t at = run_first ? 0 : 1;
    const std::int64_t outer = run_first || dims.rank == 0 ? 1 : dims.size[0];
    const std::int64_t run = at < dims.rank ? dims.size[at] : 1;
    const std::int64_t inner = at + 1 < dims.rank ? dims.size[at + 1] : 1;
    if (run == 1) {  // nothing to add up, only the start of a sum
      const SliceRange part = slice_range(outer * inner, slices_, slice, 16);
      for (std::int64_t i = part.begin; i < part.end; ++i) {
        out[i] = finished(R::join(R::start(), x[i]), 1);
      }
      return;
    }
    if (inner == 1) {
      const SliceRange part = slice_range(outer, slices_, slice);
      for (std::int64_t i = part.begin; i < part.end; ++i) {
        out[i] = finished(reductions::reduce_row<T, R>(x + i * run, run), run);
      }
      return;
    }
    const bool by_outer = outer >= slices_;
    const SliceRange rows = by_outer ? slice_range(outer, slices_, slice) : SliceRange{0, outer};
    const SliceRange columns =
        by_outer ? SliceRange{0, inner} : slice_range(inner, slices_, slice, 16);
    if (columns.size() == 0) return;
    for (std::int64_t i = rows.begin; i < rows.end; ++i) {
      T* row = out + i * inner + columns.begin;
      reductions::reduce_columns<T, R>(x + i * run * inner + columns.begin, run, inner,
                                       columns.size(), row, scratch + i * inner + columns.begin);
      for (std::int64_t j = 0; j < columns.size(); ++j) row[j] = finished(row[j], run);
    }
  }

  /// Reduced dimensions between kept ones: each result by itself.
  void reduce_general(const ReductionDims& dims, const T* x, int slice, T* out) const {
    const std::int64_t count = dims.count(true);
    const bool rows = dims.reduced[dims.rank - 1];
    const std::int64_t width = rows ? dims.size[dims.rank - 1] : 1;
    const std::size_t end = rows ? dims.rank - 1 : dims.rank;
    const SliceRange part = slice_range(outputs_, slices_, slice);
    for (std::int64_t i = part.begin; i < part.end; ++i) {
      const T* base = x + dims.offset(i, false, dims.rank);
      T total = R::start();
      for (std::int64_t k = 0; k < count / std::max<std::int64_t>(width, 1); ++k) {
        const T* run = base + dims.offset(k, true, end);
        total = R::join(total, width == 1 ? *run : reductions::reduce_row<T, R>(run, width));
      }
      out[i] = finished(total, count);
    }
  }

  Shape in_;
  std::int64_t outputs_;
  int slices_;
  bool mean_;
  bool is_fixed_;
  std::int64_t axes_;
  DType axis_dtype_;
  bool fixed_[kMaxKernelRank] = {};
  WorkspaceLayout layout_;
  std::size_t partials_ = 0;
  std::size_t scratch_ = 0;
};

template <template <class> class R>
std::unique_ptr<CpuKernel> number_kernel(const KernelRequest& request, bool mean,
                                         const std::vector<bool>& fixed) {
  std::unique_ptr<CpuKernel> kernel;
  dispatch_dtype(request.inputs[0].dtype, [&]<class T>() {
    if constexpr (!std::is_same_v<T, bool>) {
      kernel = std::make_unique<ReductionKernel<T, R<T>>>(request, mean, fixed);
    }
  });
  return kernel;
}

template <template <class> class R>
std::unique_ptr<CpuKernel> logic_kernel(const KernelRequest& request,
                                        const std::vector<bool>& fixed) {
  return std::make_unique<ReductionKernel<bool, R<bool>>>(request, false, fixed);
}

std::unique_ptr<CpuKernel> make_kernel(Reduction reduction, const KernelRequest& request,
                                       const std::vector<bool>& fixed) {
  switch (reduction) {
    case Reduction::sum:
      return number_kernel<reductions::Sum>(request, false, fixed);
    case Reduction::mean:
      return number_kernel<reductions::Sum>(request, true, fixed);
    case Reduction::prod:
      return number_kernel<reductions::Prod>(request, false, fixed);
    case Reduction::max:
      return number_kernel<reductions::Max>(request, false, fixed);
    case Reduction::min:
      return number_kernel<reductions::Min>(request, false, fixed);
    case Reduction::all:
      return logic_kernel<reductions::All>(request, fixed);
    case Reduction::any:
      return logic_kernel<reductions::Any>(request, fixed);
  }
  return nullptr;
}

}  // namespace

std::unique_ptr<PreparedKernel> reduction_kernel(Reduction reduction,
                                                 const KernelRequest& request) {
  check_kernel_rank(request);
  return sliced_kernel(make_kernel(reduction, request, {}));
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
