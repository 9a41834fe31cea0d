#include <algorithm>
#include <utility>

#include "cuda/host/call.h"
#include "cuda/host/capture.h"
#include "cuda/host/device_limits.h"
#include "cuda/host/launch_step.h"
#include "cuda/host/library.h"
#include "cuda/host/runtime.h"
#include "cuda/host/submit.h"

namespace towerflow::cuda::host {
namespace {

bool is_within(const dim3& size, const unsigned (&most)[3]) {
  return size.x >= 1 && size.x <= most[0] && size.y >= 1 && size.y <= most[1] && size.z >= 1 &&
         size.z <= most[2];
}

bool keeps_limits(const LoadedKernel& kernel, const Launch& launch) {
  if (!is_within(launch.blocks, kMaxGrid) || !is_within(launch.threads, kMaxBlock)) return false;
  const std::size_t threads = std::size_t{launch.threads.x} * launch.threads.y * launch.threads.z;
  return threads <= std::min(kMaxThreads, kernel.kernel->max_threads) &&
         launch.shared <= kernel.max_dynamic_shared;
}

/// Of the attributes of launches only those without an effect on results are known here.
bool are_known(const cudaLaunchConfig_t& config) {
  return std::all_of(config.attrs, config.attrs + config.numAttrs, [](const auto& attribute) {
    return attribute.id == cudaLaunchAttributeIgnore || attribute.id == cudaLaunchAttributePriority;
  });
}

}  // namespace

cudaError_t make_launch(const State& state, const void* function, const Launch& launch,
                        void* const* arguments, KernelStep& step) {
  if (function == nullptr) return cudaErrorInvalidDeviceFunction;
  const std::shared_ptr<LoadedKernel> kernel = state.kernels.find(function);
  if (kernel == nullptr) return cudaErrorInvalidResourceHandle;
  if (!keeps_limits(*kernel, launch)) return cudaErrorInvalidValue;
  if (arguments == nullptr && !kernel->kernel->parameters.empty()) return cudaErrorInvalidValue;
  step = {.kernel = kernel->kernel,
          .launch = launch,
          .arguments = std::make_shared<const Arguments>(*kernel->kernel, arguments)};
  return cudaSuccess;
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function,
                                void** arguments) {
  return call([&](State& state, Lock&) {
    if (config == nullptr) return cudaErrorInvalidValue;
    Stream* stream = state.find_stream(config->stream);
    if (stream == nullptr || stream->device() != current_device()) {
      return cudaErrorInvalidResourceHandle;
    }
    if (!are_known(*config)) return invalidate(*stream, cudaErrorNotSupported);
    KernelStep step;
    const Launch launch{
        .blocks = config->gridDim, .threads = config->blockDim, .shared = config->dynamicSmemBytes};
    const cudaError_t status = make_launch(state, function, launch, arguments, step);
    if (status != cudaSuccess) return invalidate(*stream, status);
    return submit(state, *stream, std::move(step));
  });
}

}  // namespace towerflow::cuda::host
