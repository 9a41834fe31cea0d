#include "cuda/ops/row_order.h"

#include <fmt/format.h>

#include "core/graph/error.h"

namespace towerflow::cuda {

RowOrder::RowOrder(Device& device, DType index, std::int64_t slices, std::int64_t rows)
    : slices_(slices),
      rows_(rows),
      sort_(device, slices, "an update of rows"),
      keys_(device.kernel(kernel_name("RowKeys", index))),
      drop_(device.kernel("DropKeys")),
      make_error_([rows](const device::DataError& found) {
        return std::make_exception_ptr(errors::InvalidArgumentError(fmt::format(
            "indices[{}] = {} is not in [0, {})", found.position(), found.value(), rows)));
      }) {
  check_32_bits(rows, "an update of rows");
}

RowOrder::Sorted RowOrder::run(CudaQueue& queue, const void* indices, std::byte* workspace) const {
  const KeySort::Rows made = sort_.begin(workspace);
  if (slices_ == 0) return {made.keys, made.rows, nullptr};
  device::DataError* const error = queue.error_record(make_error_);
  const dim3 blocks = blocks_for(queue.device(), slices_);
  launch(queue, keys_, blocks, indices, made.keys, made.rows, error, slices_, rows_);
  launch(queue, drop_, blocks, error, made.keys, slices_, rows_);
  const KeySort::Rows sorted = sort_.run(queue, made, workspace, bits_of(rows_));
  return {sorted.keys, sorted.rows, error};
}

}  // namespace towerflow::cuda
