// Reductions over axes that the op is given.
#include <fmt/format.h>

#include "core/graph/error.h"
#include "cuda/ops/reduction.h"
#include "ops/kernel_dims.h"

namespace towerflow::cuda {
namespace {

std::vector<bool> reduced_axes(const KernelRequest& request) {
  const std::size_t rank = request.inputs[0].shape.rank();
  std::vector<bool> reduced(rank, false);
  for (const std::int64_t given : integers_of(request.values.at(1))) {
    const std::size_t axis = checked_axis(given, rank);
    if (reduced[axis]) {
      throw errors::InvalidArgumentError(
          fmt::format("Invalid reduction arguments: Axes contains duplicate dimension: {}", axis));
    }
    reduced[axis] = true;
  }
  return reduced;
}

std::unique_ptr<PreparedKernel> prepare_reduce(Device& device, const KernelRequest& request) {
  const bool mean = request.op->name == "Mean";
  ReductionSpec spec{.op = mean ? "Sum" : request.op->name,
                     .dtype = request.inputs[0].dtype,
                     .shape = request.inputs[0].shape,
                     .reduced = reduced_axes(request)};
  std::int64_t count = 1;
  for (std::size_t axis = 0; axis < spec.reduced.size(); ++axis) {
    if (spec.reduced[axis]) count *= spec.shape.size(axis);
  }
  if (mean) spec.divisor = static_cast<double>(count);
  return prepare_reduction(device, spec);
}

}  // namespace

void add_reduce_kernels(CudaEntries& entries) {
  const auto numbers = {DType::float32, DType::float64, DType::int32,
                        DType::int64,   DType::float16, DType::bfloat16};
  for (const char* op : {"Sum", "Prod", "Max", "Min"}) {
    entries.push_back({op, "cuda", takes(numbers), prepare_reduce});
  }
  entries.push_back({"Mean", "cuda",
                     takes({DType::float32, DType::float64, DType::float16, DType::bfloat16}),
                     prepare_reduce});
  for (const char* op : {"All", "Any"}) {
    entries.push_back({op, "cuda", takes({DType::bool_}), prepare_reduce});
  }
}

}  // namespace towerflow::cuda
