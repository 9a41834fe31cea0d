#include "cuda/ops/slice_rows.h"

#include <fmt/format.h>

#include "core/graph/error.h"

namespace towerflow::cuda {

SliceRows::SliceRows(Device& device, const TensorDesc& indices, const Shape& shape)
    : kernel_(device.kernel(kernel_name("SliceIndex", indices.dtype))) {
  const std::int64_t depth = indices.shape.size(indices.shape.rank() - 1);
  if (depth > static_cast<std::int64_t>(shape.rank())) {
    throw errors::InvalidArgumentError(fmt::format("indices of shape {} do not index into shape {}",
                                                   indices.shape.text(), shape.text()));
  }
  if (depth > device::kMaxRank) refuse_rank("an index of slices");
  shape_.depth = static_cast<int>(depth);
  for (std::size_t d = 0; d + 1 < indices.shape.rank(); ++d) rows_ *= indices.shape.size(d);
  for (std::size_t d = 0; d < shape.rank(); ++d) {
    if (static_cast<std::int64_t>(d) < depth) {
      shape_.sizes[d] = shape.size(d);
      slices_ *= shape.size(d);
    } else {
      width_ *= shape.size(d);
    }
  }
  make_error_ = [depth, text = shape.text()](const device::DataError& found) {
    // Of an index of several numbers, one that is out of range is named.
    return std::make_exception_ptr(errors::InvalidArgumentError(fmt::format(
        "indices[{}] = [{}] does not index into shape {}", found.position(),
        depth == 1 ? fmt::format("{}", found.value()) : fmt::format(".., {}, ..", found.value()),
        text)));
  };
}

const std::int64_t* SliceRows::run(CudaQueue& queue, const void* indices,
                                   std::byte* workspace) const {
  auto* const found = reinterpret_cast<std::int64_t*>(workspace);
  if (rows_ == 0) return found;
  launch(queue, kernel_, blocks_for(queue.device(), rows_), indices, found,
         queue.error_record(make_error_), rows_, shape_);
  return found;
}

}  // namespace towerflow::cuda
