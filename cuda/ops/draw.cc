// Random numbers, with the bits of the CPU's.
#include <fmt/format.h>

#include <algorithm>

#include "core/graph/error.h"
#include "cuda/ops/random_state.h"
#include "ops/random/attributes.h"

namespace towerflow::cuda {
namespace {

/// Numbers of which a thread draws 16 bytes.
std::int64_t draws_of(const TensorDesc& y) {
  return (y.shape.elements() * static_cast<std::int64_t>(dtype_size(y.dtype)) + 15) / 16;
}

std::unique_ptr<PreparedKernel> prepare_draw(Device& device, const KernelRequest& request) {
  const TensorDesc& y = request.outputs[0];
  const std::int64_t n = y.shape.elements();
  const RandomState state(device, request, request.attributes<DrawAttrs>().seeds);
  const cudaKernel_t kernel = device.kernel(kernel_name(request.op->name, y.dtype));
  return make_kernel(
      [state, kernel, n, draws = draws_of(y)](CudaQueue& queue, const LaunchArgs& args) {
        if (n == 0) return;
        state.put(queue, args.workspace);
        launch(queue, kernel, blocks_for(queue.device(), draws), args.workspace, args.outputs[0],
               n);
      },
      state.traits({.workspace = RandomState::kBytes}, n));
}

/// The bounds are numbers in device memory.
std::unique_ptr<PreparedKernel> prepare_draw_integers(Device& device,
                                                      const KernelRequest& request) {
  const TensorDesc& y = request.outputs[0];
  const std::int64_t n = y.shape.elements();
  const RandomState state(device, request, request.attributes<DrawAttrs>().seeds);
  const cudaKernel_t check = device.kernel(kernel_name("RandomBounds", y.dtype));
  const cudaKernel_t kernel = device.kernel(kernel_name(request.op->name, y.dtype));
  const CudaQueue::MakeError make_error = [](const device::DataError& found) {
    return std::make_exception_ptr(errors::InvalidArgumentError(
        fmt::format("Need minval < maxval, got {} >= {}", found.notes[0], found.notes[1])));
  };
  return make_kernel(
      [state, check, kernel, n, make_error, draws = draws_of(y)](CudaQueue& queue,
                                                                 const LaunchArgs& args) {
        if (n == 0) return;
        device::DataError* const error = queue.error_record(make_error);
        launch(queue, check, dim3(1), dim3(1), args.inputs[1], args.inputs[2], error);
        state.put(queue, args.workspace);
        launch(queue, kernel, blocks_for(queue.device(), draws), args.workspace, args.outputs[0], n,
               args.inputs[1], args.inputs[2]);
      },
      state.traits({.workspace = RandomState::kBytes, .checks_data = true}, n));
}

/// Returns a predicate: the result has one of these dtypes and a known shape.
std::function<bool(const KernelRequest&)> draws(std::initializer_list<DType> dtypes) {
  return [allowed = std::vector<DType>(dtypes)](const KernelRequest& request) {
    const TensorDesc& y = request.outputs[0];
    return y.shape.fully_known() &&
           std::find(allowed.begin(), allowed.end(), y.dtype) != allowed.end();
  };
}

}  // namespace

void add_draw_kernels(CudaEntries& entries) {
  const auto floats = draws({DType::float32, DType::float64});
  for (const char* op : {"RandomUniform", "RandomStandardNormal", "TruncatedNormal"}) {
    entries.push_back({op, "cuda", floats, prepare_draw});
  }
  entries.push_back(
      {"RandomUniformInt", "cuda", draws({DType::int32, DType::int64}), prepare_draw_integers});
}

}  // namespace towerflow::cuda
