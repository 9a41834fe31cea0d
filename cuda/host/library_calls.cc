#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "cuda/host/call.h"
#include "cuda/host/device_limits.h"
#include "cuda/host/library.h"
#include "cuda/host/runtime.h"

namespace towerflow::cuda::host {
namespace {

/// Returns whether bytes look like a program: a fatbin, a cubin or PTX. The emulation does not read
/// it; its kernels were compiled with it from the same source.
bool is_program(const void* code) {
  constexpr std::uint32_t kFatbin = 0xba55ed50;
  std::uint32_t magic = 0;
  std::memcpy(&magic, code, sizeof magic);
  const std::string_view start(static_cast<const char*>(code), 2);
  return magic == kFatbin || std::memcmp(code, "\177ELF", 4) == 0 || start == "//" || start == ".v";
}

}  // namespace

cudaError_t cudaLibraryLoadData(cudaLibrary_t* library, const void* code, cudaJitOption*, void**,
                                unsigned, cudaLibraryOption*, void**, unsigned) {
  return call([&](State& state, Lock&) {
    if (library == nullptr || code == nullptr) return cudaErrorInvalidValue;
    const auto loaded = std::make_shared<LoadedLibrary>();
    if (HostObject::is_image(code)) loaded->object = HostObject::load(code);
    loaded->is_image = loaded->object != nullptr || is_program(code);
    *library = state.libraries.add(loaded);
    return cudaSuccess;
  });
}

cudaError_t cudaLibraryUnload(cudaLibrary_t handle) {
  return call([&](State& state, Lock&) {
    const std::shared_ptr<LoadedLibrary> library = state.libraries.find(handle);
    if (library == nullptr) return cudaErrorInvalidResourceHandle;
    for (const auto& [name, kernel] : library->kernels) state.kernels.remove(kernel);
    state.libraries.remove(handle);
    return cudaSuccess;
  });
}

cudaError_t cudaLibraryGetKernel(cudaKernel_t* kernel, cudaLibrary_t handle, const char* name) {
  return call([&](State& state, Lock&) {
    const std::shared_ptr<LoadedLibrary> library = state.libraries.find(handle);
    if (kernel == nullptr || name == nullptr) return cudaErrorInvalidValue;
    if (library == nullptr) return cudaErrorInvalidResourceHandle;
    if (!library->is_image) return cudaErrorInvalidKernelImage;
    const std::shared_ptr<const HostKernel> found = library->find(name);
    if (found == nullptr) return cudaErrorSymbolNotFound;
    const auto [at, added] = library->kernels.try_emplace(name);
    if (added) {
      at->second = state.kernels.add(std::make_shared<LoadedKernel>(
          LoadedKernel{.kernel = found, .max_dynamic_shared = kShared - found->static_shared}));
    }
    *kernel = at->second;
    return cudaSuccess;
  });
}

cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
  return call([&](State& state, Lock&) {
    const std::shared_ptr<LoadedKernel> kernel = state.kernels.find(function);
    if (kernel == nullptr) return cudaErrorInvalidResourceHandle;
    if (attribute == cudaFuncAttributePreferredSharedMemoryCarveout) {
      return value >= -1 && value <= 100 ? cudaSuccess : cudaErrorInvalidValue;  // a hint
    }
    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaErrorNotSupported;
    const std::size_t most = kSharedOnRequest - kernel->kernel->static_shared;
    if (value < 0 || static_cast<std::size_t>(value) > most) return cudaErrorInvalidValue;
    kernel->max_dynamic_shared = static_cast<std::size_t>(value);
    return cudaSuccess;
  });
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* function) {
  return call([&](State& state, Lock&) {
    const std::shared_ptr<LoadedKernel> kernel = state.kernels.find(function);
    if (attributes == nullptr) return cudaErrorInvalidValue;
    if (kernel == nullptr) return cudaErrorInvalidResourceHandle;
    *attributes = {};
    attributes->sharedSizeBytes = kernel->kernel->static_shared;
    attributes->maxThreadsPerBlock =
        static_cast<int>(std::min(kMaxThreads, kernel->kernel->max_threads));
    attributes->maxDynamicSharedSizeBytes = static_cast<int>(kernel->max_dynamic_shared);
    attributes->ptxVersion = attributes->binaryVersion = 90;
    return cudaSuccess;
  });
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function,
                                                          int threads, std::size_t shared) {
  return call([&](State& state, Lock&) {
    const std::shared_ptr<LoadedKernel> kernel = state.kernels.find(function);
    if (blocks == nullptr || threads <= 0) return cudaErrorInvalidValue;
    if (kernel == nullptr) return cudaErrorInvalidResourceHandle;
    const auto of_block = static_cast<unsigned>(threads);
    *blocks = 0;
    if (of_block > std::min(kMaxThreads, kernel->kernel->max_threads)) return cudaSuccess;
    const std::size_t shared_of_block = kernel->kernel->static_shared + shared + kSharedReserved;
    *blocks = static_cast<int>(std::min<std::size_t>(
        {kBlocksOfMultiprocessor, kThreadsOfMultiprocessor / ((of_block + 31) / 32 * 32),
         kSharedOfMultiprocessor / shared_of_block}));
    return cudaSuccess;
  });
}

}  // namespace towerflow::cuda::host
