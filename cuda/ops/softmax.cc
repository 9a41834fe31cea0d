// Softmax, its logarithm, and the cross entropies of rows of logits.
#include <fmt/format.h>

#include "core/graph/error.h"
#include "cuda/ops/operands.h"

namespace towerflow::cuda {
namespace {

/// The rows of logits: the last dimension are the classes.
struct Rows {
  explicit Rows(const Shape& logits)
      : classes(logits.size(logits.rank() - 1)),
        rows(classes == 0 ? 0 : logits.elements() / classes),
        group(classes >= kLongRow ? static_cast<int>(kBlockThreads) : kWarp) {}
  /// Returns a block for each group of rows that it works on.
  dim3 blocks(const Device& device) const { return blocks_for(device, rows * group); }

  std::int64_t classes, rows;
  int group;  ///< threads that work on a row

 private:
  static constexpr std::int64_t kLongRow = 1024;
  static constexpr int kWarp = 32;
};

std::unique_ptr<PreparedKernel> prepare_softmax(Device& device, const KernelRequest& request) {
  const Rows rows(request.inputs[0].shape);
  const cudaKernel_t kernel = device.kernel(kernel_name(request.op->name, request.inputs[0].dtype));
  return make_kernel(
      [kernel, rows](CudaQueue& queue, const LaunchArgs& args) {
        launch(queue, kernel, rows.blocks(queue.device()), args.inputs[0], args.outputs[0],
               rows.rows, rows.classes, rows.group);
      },
      {.in_place = {{0, 0}}});
}

std::unique_ptr<PreparedKernel> prepare_cross_entropy(Device& device,
                                                      const KernelRequest& request) {
  const Rows rows(request.inputs[0].shape);
  const cudaKernel_t kernel = device.kernel(kernel_name(request.op->name, request.inputs[0].dtype));
  return make_kernel([kernel, rows](CudaQueue& queue, const LaunchArgs& args) {
    launch(queue, kernel, rows.blocks(queue.device()), args.inputs[0], args.inputs[1],
           args.outputs[0], args.outputs[1], rows.rows, rows.classes, rows.group);
  });
}

std::unique_ptr<PreparedKernel> prepare_sparse(Device& device, const KernelRequest& request) {
  const Rows rows(request.inputs[0].shape);
  const cudaKernel_t kernel =
      device.kernel(fmt::format("{}_{}_{}", request.op->name, dtype_name(request.inputs[0].dtype),
                                dtype_name(request.inputs[1].dtype)));
  const CudaQueue::MakeError make_error = [classes = rows.classes](const device::DataError& found) {
    return std::make_exception_ptr(errors::InvalidArgumentError(
        fmt::format("Received a label value of {} which is outside the valid range of [0, {}).",
                    found.value(), classes)));
  };
  return make_kernel(
      [kernel, rows, make_error](CudaQueue& queue, const LaunchArgs& args) {
        device::DataError* const error = queue.error_record(make_error);
        launch(queue, kernel, rows.blocks(queue.device()), args.inputs[0], args.inputs[1],
               args.outputs[0], args.outputs[1], error, rows.rows, rows.classes, rows.group);
      },
      {.checks_data = true});
}

}  // namespace

void add_softmax_kernels(CudaEntries& entries) {
  const auto floats = takes({DType::float32, DType::float64, DType::float16, DType::bfloat16});
  entries.push_back({"Softmax", "cuda", floats, prepare_softmax});
  entries.push_back({"LogSoftmax", "cuda", floats, prepare_softmax});
  entries.push_back({"SoftmaxCrossEntropyWithLogits", "cuda", floats, prepare_cross_entropy});
  entries.push_back({"SparseSoftmaxCrossEntropyWithLogits", "cuda", floats, prepare_sparse});
}

}  // namespace towerflow::cuda
