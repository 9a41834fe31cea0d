#include "cuda/ops/row_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/graph/error.h"

namespace towerflow::cuda {
namespace {

constexpr std::int64_t kSortTile = 1024;  // keys of a block
constexpr int kDigitBits = 4;

}  // namespace

RowOrder::RowOrder(Device& device, DType index, std::int64_t slices, std::int64_t rows)
    : slices_(slices),
      rows_(rows),
      tiles_(static_cast<unsigned>((slices + kSortTile - 1) / kSortTile)),
      counts_(std::size_t{tiles_} * (1U << kDigitBits) * sizeof(std::uint32_t)),
      keys_(device.kernel(kernel_name("RowKeys", index))),
      drop_(device.kernel("DropKeys")),
      count_(device.kernel("SortCount")),
      scan_(device.kernel("SortScan")),
      move_(device.kernel("SortMove")),
      make_error_([rows](const device::DataError& found) {
        return std::make_exception_ptr(errors::InvalidArgumentError(
            fmt::format("indices[{}] = {} is not in [0, {})", found.position, found.value, rows)));
      }) {
  check_32_bits(slices, "an update of rows");
  check_32_bits(rows, "an update of rows");
  while (rows >> bits_ != 0) ++bits_;
}

std::size_t RowOrder::part() const {
  return rounded_to_pack(static_cast<std::size_t>(slices_) * sizeof(std::uint32_t));
}

RowOrder::Sorted RowOrder::run(CudaQueue& queue, const void* indices, std::byte* workspace) const {
  const auto words = [&](std::size_t number) {
    return reinterpret_cast<std::uint32_t*>(workspace + number * part());
  };
  std::uint32_t *keys = words(0), *order = words(1), *other_keys = words(2),
                *other_order = words(3), *counts = words(4);
  if (slices_ == 0) return {keys, order, nullptr};
  device::DataError* const error = queue.error_record(make_error_);
  const dim3 blocks = blocks_for(queue.device(), slices_), tiles(tiles_);
  launch(queue, keys_, blocks, indices, keys, order, error, slices_, rows_);
  launch(queue, drop_, blocks, error, keys, slices_, rows_);
  const std::int64_t all_counts = std::int64_t{tiles_} << kDigitBits;
  for (int shift = 0; shift < bits_; shift += kDigitBits) {
    launch(queue, count_, tiles, keys, counts, slices_, shift);
    launch(queue, scan_, dim3(1), counts, all_counts);
    launch(queue, move_, tiles, keys, order, counts, other_keys, other_order, slices_, shift);
    std::swap(keys, other_keys);
    std::swap(order, other_order);
  }
  return {keys, order, error};
}

}  // namespace towerflow::cuda
