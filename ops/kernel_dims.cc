#include "ops/kernel_dims.h"

#include <fmt/format.h>

namespace towerflow {

void check_kernel_rank(const KernelRequest& request) {
  const auto check = [](const std::vector<TensorDesc>& descs) {
    for (const TensorDesc& desc : descs) {
      if (desc.shape.rank() > kMaxKernelRank) {
        throw errors::UnimplementedError(
            fmt::format("a tensor has {} dimensions, but kernels take at most {}",
                        desc.shape.rank(), kMaxKernelRank));
      }
    }
  };
  check(request.inputs);
  check(request.outputs);
  for (const TensorDesc& output : request.outputs) {
    if (!output.shape.fully_known()) {
      throw errors::UnimplementedError(
          fmt::format("a result of shape {}, known only from values", output.shape.text()));
    }
  }
}

std::size_t checked_axis(std::int64_t axis, std::size_t rank) {
  const auto place = normalized_axis(axis, rank);
  if (!place) {
    throw errors::InvalidArgumentError(
        fmt::format("axis {} is out of range for {} dimensions", axis, rank));
  }
  return *place;
}

std::vector<std::int64_t> integers_of(const Array& array) {
  std::vector<std::int64_t> values;
  for (std::int64_t i = 0; i < array.elements(); ++i) {
    values.push_back(integer_at(array.dtype(), array.raw(), i));
  }
  return values;
}

}  // namespace towerflow
