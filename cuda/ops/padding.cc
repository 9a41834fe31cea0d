#include "cuda/ops/padding.h"

namespace towerflow::cuda {
namespace {

/// Drops dimensions of one element, and joins those that are not padded with the one before.
PadSizes simplified(const PadSizes& sizes) {
  PadSizes kept;
  for (std::size_t d = 0; d < sizes.inner.size(); ++d) {
    if (sizes.padded[d] == 1 && sizes.inner[d] == 1) continue;
    const bool whole = sizes.inner[d] == sizes.padded[d] && sizes.before[d] == 0;
    if (whole && !kept.inner.empty()) {
      kept.inner.back() *= sizes.inner[d];
      kept.before.back() *= sizes.inner[d];
      kept.padded.back() *= sizes.inner[d];
    } else {
      kept.inner.push_back(sizes.inner[d]);
      kept.before.push_back(sizes.before[d]);
      kept.padded.push_back(sizes.padded[d]);
    }
  }
  return kept;
}

}  // namespace

Padding::Padding(Device& device, const char* op, DType dtype, PadSizes sizes, Mode mode,
                 const device::PadValue& value)
    : kernel_(device.kernel(copy_kernel_name("Pad", dtype))), value_(value) {
  for (const std::int64_t size : sizes.padded) elements_ *= size;
  if (elements_ == 0) return;
  check_32_bits(elements_, op);
  // The place of a mirrored element depends on its dimension alone.
  if (mode == Mode::constant) sizes = simplified(sizes);
  if (sizes.inner.size() > device::kMaxRank) refuse_rank(op);
  shape_.rank = static_cast<int>(sizes.inner.size());
  shape_.mode = mode;
  std::int64_t stride = 1;
  for (std::size_t d = sizes.inner.size(); d-- > 0;) {
    shape_.sizes[d] = device::Divisor::of(static_cast<std::uint32_t>(sizes.padded[d]));
    shape_.before[d] = static_cast<std::int32_t>(sizes.before[d]);
    shape_.inner[d] = sizes.inner[d];
    shape_.strides[d] = stride;
    stride *= sizes.inner[d];
  }
}

void Padding::run(CudaQueue& queue, const void* from, void* to) const {
  if (elements_ == 0) return;
  launch(queue, kernel_, blocks_for(queue.device(), elements_), from, to, elements_, shape_,
         value_);
}

}  // namespace towerflow::cuda
