#include "cuda/ops/operands.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/graph/error.h"

namespace towerflow::cuda {

std::function<bool(const KernelRequest&)> takes(std::initializer_list<DType> dtypes,
                                                std::size_t input) {
  return [allowed = std::vector<DType>(dtypes), input](const KernelRequest& request) {
    return input < request.inputs.size() &&
           std::find(allowed.begin(), allowed.end(), request.inputs[input].dtype) != allowed.end();
  };
}

std::string kernel_name(std::string_view op, DType dtype) {
  return fmt::format("{}_{}", op, dtype_name(dtype));
}

std::string copy_kernel_name(std::string_view op, DType dtype) {
  return fmt::format("{}_{}", op, dtype_size(dtype));
}

std::vector<std::int64_t> row_major_strides(const Shape& shape) {
  std::vector<std::int64_t> strides(shape.rank());
  std::int64_t step = 1;
  for (std::size_t d = shape.rank(); d-- > 0;) {
    strides[d] = step;
    step *= shape.size(d);
  }
  return strides;
}

std::vector<std::int64_t> broadcast_strides(const Shape& operand, const Shape& result) {
  const std::vector<std::int64_t> own = row_major_strides(operand);
  std::vector<std::int64_t> strides(result.rank(), 0);
  const std::size_t missing = result.rank() - operand.rank();
  for (std::size_t d = 0; d < operand.rank(); ++d) {
    if (operand.size(d) != 1) strides[missing + d] = own[d];
  }
  return strides;
}

void refuse_rank(const char* op) {
  throw errors::UnimplementedError(
      fmt::format("{} on a GPU takes at most {} dimensions", op, device::kMaxRank));
}

}  // namespace towerflow::cuda
