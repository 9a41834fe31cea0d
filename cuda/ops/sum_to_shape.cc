// Sums over the dimensions along which an operand was repeated.
#include <fmt/format.h>

#include "core/graph/error.h"
#include "cuda/ops/reduction.h"

namespace towerflow::cuda {
namespace {

std::unique_ptr<PreparedKernel> prepare_sum_to_shape(Device& device, const KernelRequest& request) {
  const Shape &whole = request.inputs[0].shape, &part = request.outputs[0].shape;
  if (broadcast_shapes(whole, part) != whole) {
    throw errors::InvalidArgumentError(
        fmt::format("a gradient of shape {} cannot be summed to {}", whole.text(), part.text()));
  }
  std::vector<bool> reduced(whole.rank(), true);
  const std::size_t missing = whole.rank() - part.rank();
  for (std::size_t d = missing; d < whole.rank(); ++d) {
    reduced[d] = part.size(d - missing) == 1 && whole.size(d) != 1;
  }
  return prepare_reduction(device, {.op = "Sum",
                                    .dtype = request.inputs[0].dtype,
                                    .shape = whole,
                                    .reduced = std::move(reduced)});
}

}  // namespace

void add_sum_to_shape_kernels(CudaEntries& entries) {
  entries.push_back({"SumToShape",
                     "cuda",
                     takes({DType::float32, DType::float64, DType::int32, DType::int64,
                            DType::float16, DType::bfloat16}),
                     prepare_sum_to_shape,
                     {1}});
}

}  // namespace towerflow::cuda
