#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>
#include <variant>
#include <vector>

#include "cuda/host/event.h"
#include "cuda/host/host_kernel.h"
#include "cuda/host/task.h"

namespace towerflow::cuda::host {

/// The arguments of a launch, copied when it is made.
class Arguments {
 public:
  Arguments(const HostKernel& kernel, void* const* arguments);
  void* const* data() const { return pointers_.data(); }

 private:
  std::vector<std::max_align_t> bytes_;
  std::vector<void*> pointers_;
};

struct KernelStep {
  std::shared_ptr<const HostKernel> kernel{};
  Launch launch{};
  std::shared_ptr<const Arguments> arguments{};
};
struct CopyStep {
  void* to = nullptr;
  const void* from = nullptr;
  std::size_t bytes = 0;
  bool to_pageable = false, from_pageable = false;         ///< memory that only the host knows
  std::shared_ptr<const std::vector<std::byte>> staged{};  ///< copied instead of `from` if set
};
struct SetStep {
  void* at = nullptr;
  unsigned value = 0;
  std::size_t value_bytes = 1, bytes = 0;
};
struct HostStep {
  cudaHostFn_t function = nullptr;
  void* data = nullptr;
};
struct WorkStep {
  std::shared_ptr<const Work> work{};
};
/// An event of the outside, in a graph.
struct WaitStep {
  std::shared_ptr<Event> event{};
};
struct RecordStep {
  std::shared_ptr<Event> event{};
};

/// What a stream can be told to do, and a node of a graph.
using Step = std::variant<KernelStep, CopyStep, SetStep, HostStep, WorkStep, WaitStep, RecordStep>;

/// Makes the task for a stream of a device. It owns all it needs, so that the step may be changed
/// afterwards. Steps of events have none: a task that does nothing comes out.
Task make_task(const Step& step, int device);

}  // namespace towerflow::cuda::host
