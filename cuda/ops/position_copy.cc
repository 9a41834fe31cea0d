#include "cuda/ops/position_copy.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace towerflow::cuda {
namespace {

std::string bytes_kernel_name(const char* op, std::size_t bytes) {
  return fmt::format("{}_{}", op, bytes);
}

}  // namespace

PositionCopy::PositionCopy(Device& device, const char* op, DType dtype, Positions positions,
                           Direction direction)
    : direction_(direction), element_bytes_(dtype_size(dtype)), offset_(positions.offset) {
  View<1>& view = positions.view;
  for (const std::int64_t size : view.sizes) elements_ *= size;
  if (elements_ == 0) {
    form_ = Form::nothing;
    return;
  }
  if (view.sizes.empty() || (view.sizes.size() == 1 && view.strides[0][0] == 1)) {
    form_ = Form::bytes;
    return;
  }
  use_wide_elements(view, element_bytes_);
  if (direction == Direction::load && plan_transpose(device, view)) return;
  shape_ = view.strided(op);
  kernel_ = device.kernel(bytes_kernel_name(
      direction == Direction::load ? "StridedCopy" : "StridedStore", element_bytes_));
}

void PositionCopy::use_wide_elements(View<1>& view, std::size_t bytes) {
  constexpr std::size_t kWidest = 16;
  std::vector<std::int64_t>& strides = view.strides[0];
  if (strides.back() != 1) return;
  for (std::size_t wide = kWidest; wide > bytes; wide /= 2) {
    const auto times = static_cast<std::int64_t>(wide / bytes);
    const auto fits = [times](std::int64_t number) { return number % times == 0; };
    if (!fits(view.sizes.back()) || !fits(offset_) ||
        !std::all_of(strides.begin(), strides.end() - 1, fits)) {
      continue;
    }
    view.sizes.back() /= times;
    for (std::size_t d = 0; d + 1 < strides.size(); ++d) strides[d] /= times;
    offset_ /= times;
    elements_ /= times;
    element_bytes_ = wide;
    return;
  }
}

/// The result is [columns, rows], or several such matrices; each was [rows, columns].
bool PositionCopy::plan_transpose(Device& device, const View<1>& view) {
  constexpr std::int64_t kTile = 32, kLeast = 8, kMostBlocks = 65535;
  const std::size_t rank = view.sizes.size();
  if (rank != 2 && rank != 3) return false;
  columns_ = view.sizes[rank - 2];
  rows_ = view.sizes[rank - 1];
  const std::int64_t batch = rank == 3 ? view.sizes[0] : 1;
  const std::vector<std::int64_t>& strides = view.strides[0];
  const bool is_transpose = strides[rank - 2] == 1 && strides[rank - 1] == columns_ &&
                            (rank == 2 || strides[0] == rows_ * columns_);
  const std::int64_t across = (columns_ + kTile - 1) / kTile, down = (rows_ + kTile - 1) / kTile;
  if (!is_transpose || rows_ < kLeast || columns_ < kLeast || down > kMostBlocks ||
      batch > kMostBlocks || across > std::numeric_limits<std::int32_t>::max()) {
    return false;
  }
  form_ = Form::transpose;
  tiles_ = dim3(static_cast<unsigned>(across), static_cast<unsigned>(down),
                static_cast<unsigned>(batch));
  kernel_ = device.kernel(bytes_kernel_name("Transpose", element_bytes_));
  return true;
}

void PositionCopy::run(CudaQueue& queue, const void* from, void* to) const {
  if (form_ == Form::nothing) return;
  const std::int64_t moved = offset_ * static_cast<std::int64_t>(element_bytes_);
  if (direction_ == Direction::load) {
    from = static_cast<const std::byte*>(from) + moved;
  } else {
    to = static_cast<std::byte*>(to) + moved;
  }
  if (form_ == Form::bytes) {
    return queue.copy(to, from, static_cast<std::size_t>(elements_) * element_bytes_);
  }
  if (form_ == Form::transpose) {
    return launch(queue, kernel_, tiles_, dim3(32, 8), from, to, rows_, columns_);
  }
  launch(queue, kernel_, blocks_for(queue.device(), elements_), from, to, elements_, shape_);
}

std::unique_ptr<PreparedKernel> prepare_load(Device& device, const KernelRequest& request,
                                             Positions positions, std::size_t input) {
  const PositionCopy copy(device, request.op->name.c_str(), request.outputs[0].dtype,
                          std::move(positions));
  return make_kernel([copy, input](CudaQueue& queue, const LaunchArgs& args) {
    copy.run(queue, args.inputs[input], args.outputs[0]);
  });
}

std::unique_ptr<PreparedKernel> prepare_store(Device& device, const KernelRequest& request,
                                              Positions positions, std::size_t input) {
  const PositionCopy copy(device, request.op->name.c_str(), request.outputs[0].dtype,
                          std::move(positions), PositionCopy::Direction::store);
  return make_kernel(
      [copy, input, bytes = request.outputs[0].bytes()](CudaQueue& queue, const LaunchArgs& args) {
        if (bytes > 0) queue.fill_with_zeros(args.outputs[0], bytes);
        copy.run(queue, args.inputs[input], args.outputs[0]);
      });
}

}  // namespace towerflow::cuda
