#include <fmt/format.h>

#include "core/graph/error.h"
#include "ops/family.h"
#include "ops/nn/kernels.h"
#include "ops/nn/window_args.h"
#include "ops/reference/softmax.h"
#include "ops/simd/kernels.h"

namespace towerflow::nn {
namespace {

std::unique_ptr<PreparedKernel> simd_kernel(const KernelRequest& request) {
  const Shape& logits = request.inputs[0].shape;
  return sliced_kernel(simd::make_sparse_softmax_xent(logits.size(0), logits.size(1),
                                                      request.inputs[1].dtype == DType::int32),
                       {{1, 0}});
}

template <class Label>
std::unique_ptr<PreparedKernel> reference_xent(std::int64_t rows, std::int64_t classes) {
  return function_kernel([rows, classes](const LaunchArgs& args) {
    for (std::int64_t i = 0; i < rows; ++i) {
      const std::int64_t label = args.input<Label>(1)[i];
      if (label < 0 || label >= classes) {
        throw errors::InvalidArgumentError(
            fmt::format("Received a label value of {} which is outside the valid range of [0, {}).",
                        label, classes));
      }
      reference::sparse_softmax_xent<double, double>(
          1, classes, args.input<double>(0) + i * classes, &label, args.output<double>(0) + i,
          args.output<double>(1) + i * classes);
    }
  });
}

std::unique_ptr<PreparedKernel> reference_xent_kernel(const KernelRequest& request) {
  const std::int64_t rows = request.inputs[0].shape.size(0);
  const std::int64_t classes = request.inputs[0].shape.size(1);
  return request.inputs[1].dtype == DType::int32 ? reference_xent<std::int32_t>(rows, classes)
                                                 : reference_xent<std::int64_t>(rows, classes);
}

}  // namespace

static void register_cross_entropy_kernels(KernelTable& table) {
  const char* op = "SparseSoftmaxCrossEntropyWithLogits";
  add_kernel(table, op, "simd", 0, {DType::float32}, simd_kernel);
  add_kernel(table, op, "reference", 0, {DType::float64}, reference_xent_kernel);
}

}  // namespace towerflow::nn

namespace towerflow {
OpFamily cross_entropy_cpu_family() { return {.kernels = nn::register_cross_entropy_kernels}; }
}  // namespace towerflow
