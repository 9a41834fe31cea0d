#include "ops/strided_copy.h"

#include <algorithm>
#include <string>
#include <type_traits>

#include "core/device/cpu/launch.h"
#include "ops/simd/loops.h"

namespace towerflow {
namespace {

template <class Plan>
class CopyKernel final : public CpuKernel {
  static constexpr bool kReadsInputs = std::is_same_v<Plan, LaunchCopyPlan>;

 public:
  CopyKernel(DType dtype, std::int64_t elements, std::size_t parts, Plan plan)
      : dtype_(dtype), slices_(loop_slices(elements)), parts_(parts), plan_(std::move(plan)) {}
  int slices(int) const override { return slices_; }
  bool may_fail() const override { return kReadsInputs || dtype_ == DType::string; }
  void run(int, int slice, const void* const* inputs, void* const* outputs,
           std::byte*) const override {
    for (std::size_t part = 0; part < parts_; ++part) {
      StridedCopy copy;
      if constexpr (kReadsInputs)
        plan_(inputs, part, copy);
      else
        plan_(part, copy);
      copy.run(dtype_, inputs[copy.input], outputs[copy.output], slice, slices_);
    }
  }

 private:
  DType dtype_;
  int slices_;
  std::size_t parts_;
  Plan plan_;
};

template <class Plan>
std::unique_ptr<PreparedKernel> copy_kernel(const KernelRequest& request, std::size_t parts,
                                            Plan plan) {
  check_kernel_rank(request);
  std::int64_t elements = 0;
  for (const TensorDesc& output : request.outputs) elements += output.shape.elements();
  return sliced_kernel(std::make_unique<CopyKernel<Plan>>(request.outputs[0].dtype, elements, parts,
                                                          std::move(plan)));
}

template <class T>
void copy_row(const T* from, std::int64_t from_stride, T* to, std::int64_t to_stride,
              std::int64_t n) {
  if (from_stride == 1 && to_stride == 1) {
    std::copy_n(from, n, to);
  } else if (from_stride == 0 && to_stride == 1) {
    std::fill_n(to, n, *from);
  } else {
    for (std::int64_t i = 0; i < n; ++i) to[i * to_stride] = from[i * from_stride];
  }
}

/// A tile of a transpose: kTile rows of the result, in blocks whose lines of memory, of the input
/// and of the result, stay in the cache.
constexpr std::int64_t kTile = 16, kTileWidth = 512;

template <class T>
void transpose_tile(const T* from, std::int64_t from_stride, T* to, std::int64_t to_stride,
                    std::int64_t rows, std::int64_t columns) {
  if constexpr (std::is_same_v<T, float>) {
    return simd::loops().transpose(from, from_stride, to, to_stride, columns, rows);
  }
  for (std::int64_t c0 = 0; c0 < columns; c0 += kTile) {
    const std::int64_t c1 = std::min(c0 + kTile, columns);
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = c0; c < c1; ++c) to[r * to_stride + c] = from[c * from_stride + r];
  }
}

}  // namespace

bool StridedCopy::is_transpose() const {
  return rank_ >= 2 && to_[rank_ - 1] == 1 && from_[rank_ - 1] != 1 && from_[rank_ - 2] == 1;
}

template <class T>
void StridedCopy::transpose_as(const T* from, T* to, int slice, int slices) const {
  const std::int64_t rows = sizes_[rank_ - 2], width = sizes_[rank_ - 1];
  const std::int64_t down = (rows + kTile - 1) / kTile;
  const std::int64_t across = (width + kTileWidth - 1) / kTileWidth;
  const SliceRange part = slice_range(elements() / (rows * width) * down * across, slices, slice);
  for (std::int64_t tile = part.begin; tile < part.end; ++tile) {
    const std::int64_t row = tile / across % down * kTile;
    const std::int64_t column = tile % across * kTileWidth;
    std::int64_t rest = tile / (across * down);
    std::int64_t from_at = row + column * from_[rank_ - 1];
    std::int64_t to_at = row * to_[rank_ - 2] + column;
    for (int axis = rank_ - 3; axis >= 0; rest /= sizes_[axis--]) {
      from_at += rest % sizes_[axis] * from_[axis];
      to_at += rest % sizes_[axis] * to_[axis];
    }
    transpose_tile(from + from_at, from_[rank_ - 1], to + to_at, to_[rank_ - 2],
                   std::min(kTile, rows - row), std::min(kTileWidth, width - column));
  }
}

void StridedCopy::add(std::int64_t size, std::int64_t from_stride, std::int64_t to_stride) {
  if (size == 1) return;
  if (rank_ > 0 && from_[rank_ - 1] == size * from_stride && to_[rank_ - 1] == size * to_stride) {
    sizes_[rank_ - 1] *= size;
    from_[rank_ - 1] = from_stride;
    to_[rank_ - 1] = to_stride;
    return;
  }
  sizes_[rank_] = size;
  from_[rank_] = from_stride;
  to_[rank_] = to_stride;
  ++rank_;
}

std::int64_t StridedCopy::elements() const {
  std::int64_t count = 1;
  for (int i = 0; i < rank_; ++i) count *= sizes_[i];
  return count;
}

template <class T>
void StridedCopy::run_as(const T* from, T* to, int slice, int slices) const {
  if (elements() == 0) return;
  from += from_offset;
  to += to_offset;
  if (is_transpose()) return transpose_as(from, to, slice, slices);
  const std::int64_t width = rank_ == 0 ? 1 : sizes_[rank_ - 1];
  const std::int64_t from_stride = rank_ == 0 ? 1 : from_[rank_ - 1];
  const std::int64_t to_stride = rank_ == 0 ? 1 : to_[rank_ - 1];
  const std::int64_t rows = elements() / width;
  if (rows == 1) {
    const SliceRange part = slice_range(width, slices, slice);
    copy_row(from + part.begin * from_stride, from_stride, to + part.begin * to_stride, to_stride,
             part.size());
    return;
  }
  const SliceRange part = slice_range(rows, slices, slice);
  for (std::int64_t row = part.begin; row < part.end; ++row) {
    std::int64_t rest = row;
    std::int64_t from_row = 0;
    std::int64_t to_row = 0;
    for (int axis = rank_ - 2; axis >= 0; --axis) {
      const std::int64_t index = rest % sizes_[axis];
      rest /= sizes_[axis];
      from_row += index * from_[axis];
      to_row += index * to_[axis];
    }
    copy_row(from + from_row, from_stride, to + to_row, to_stride, width);
  }
}

void StridedCopy::run(DType dtype, const void* from, void* to, int slice, int slices) const {
  dispatch_copyable(dtype, [&]<class T>() {
    run_as(static_cast<const T*>(from), static_cast<T*>(to), slice, slices);
  });
}

std::unique_ptr<PreparedKernel> strided_copy_kernel(const KernelRequest& request, std::size_t parts,
                                                    CopyPlan plan) {
  return copy_kernel(request, parts, std::move(plan));
}

std::unique_ptr<PreparedKernel> strided_copy_kernel(const KernelRequest& request, std::size_t parts,
                                                    LaunchCopyPlan plan) {
  return copy_kernel(request, parts, std::move(plan));
}

std::vector<std::int64_t> dense_strides(const Shape& shape) {
  std::vector<std::int64_t> strides(shape.rank());
  std::int64_t stride = 1;
  for (std::size_t i = shape.rank(); i-- > 0;) {
    strides[i] = stride;
    stride *= shape.size(i);
  }
  return strides;
}

}  // namespace towerflow
