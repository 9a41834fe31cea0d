#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "cuda/host/kernel_fault.h"
#include "cuda/host/visible.h"
#include "cuda/host/work.h"

namespace towerflow::cuda::host {

/// A parameter of a kernel: its size and, in ascending order, the offsets of the pointers in it.
struct Parameter {
  std::size_t bytes = 0;
  std::vector<std::size_t> pointers;
};

/// A kernel of cuda/device that was compiled for the host.
struct HostKernel {
  const char* name = nullptr;  ///< as in the fatbin
  std::vector<Parameter> parameters;
  unsigned max_threads = 1024;    ///< of a block: its launch bounds
  std::size_t static_shared = 0;  ///< bytes of shared memory besides those of the launch
  bool meets = false;             ///< whether threads of a block meet: barriers, warp operations
  /// Runs one thread of the grid. Pointers in the arguments are host addresses.
  void (*thread)(void* const* arguments) = nullptr;
};

/// Registers a kernel; called by the static objects of the device files.
///
/// errors   std::logic_error: a kernel of that name was registered before
TOWERFLOW_CUDA_VISIBLE void add_kernel(const HostKernel& kernel);
/// Returns nullptr if there is no kernel of that name.
TOWERFLOW_CUDA_VISIBLE const HostKernel* find_kernel(std::string_view name);
TOWERFLOW_CUDA_VISIBLE std::span<const HostKernel> kernels();

/// While it lives, kernels that the calling thread registers are added to a list of their own: they
/// can be unloaded.
class CollectKernels {
 public:
  explicit CollectKernels(std::vector<HostKernel>& kernels);
  ~CollectKernels();
  CollectKernels(const CollectKernels&) = delete;
  CollectKernels& operator=(const CollectKernels&) = delete;
};

struct Launch {
  dim3 blocks, threads;
  std::size_t shared = 0;  ///< dynamic shared memory, bytes
};

/// An address range that a kernel may access. `host` is where the host finds the bytes of `device`.
struct Buffer {
  std::byte* device = nullptr;
  std::byte* host = nullptr;
  std::size_t bytes = 0;
};

/// What a kernel did, as its access hooks saw it.
struct KernelTrace {
  std::vector<Operand> accessed;  ///< merged ranges, by device addresses
  std::size_t bytes_read = 0, bytes_written = 0;
};

/// Runs all blocks of a launch, in any order. `arguments` hold device addresses, which are
/// translated by `buffer_of` (nullptr means that the address is in no allocation).
///
/// errors   KernelFault: an access outside of every buffer of the launch, a misaligned one, a race
///          between threads of a block in shared memory, bytes of a buffer that two threads write,
///          or one writes and another reads later (two blocks, if threads meet), shared memory read
///          before it was written, a barrier or warp operation that some threads do not reach, a
///          launch over the limits
TOWERFLOW_CUDA_VISIBLE KernelTrace
run_kernel(const HostKernel& kernel, const Launch& launch, void* const* arguments,
           const std::function<const Buffer*(const void*)>& buffer_of);

/// Chooses the order in which the launches of the calling thread run their blocks, and the warps
/// and lanes of each: 0 as they are numbered (the default), any other number shuffled.
TOWERFLOW_CUDA_VISIBLE void set_order(std::uint64_t seed);

}  // namespace towerflow::cuda::host
