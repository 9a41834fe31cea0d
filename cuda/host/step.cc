#include "cuda/host/step.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "cuda/host/kernel_fault.h"
#include "cuda/host/state.h"
#include "cuda/host/submit.h"
#include "cuda/host/thread_state.h"

namespace towerflow::cuda::host {
namespace {

/// Returns where the host finds a range of device memory or pinned memory, or nullptr if it is in
/// no allocation any more, as may happen to the memory that a graph uses.
std::byte* find_range(const void* address, std::size_t bytes) {
  return is_accessible(address, bytes) ? static_cast<std::byte*>(host_address(address)) : nullptr;
}

Outcome freed_memory() {
  return {.status = cudaErrorIllegalAddress, .text = "its memory was freed"};
}

Task make_one(const KernelStep& step, int device) {
  const auto run = [step, device]() -> Outcome {
    const auto buffer_of = [device](const void* address) -> const Buffer* {
      const Allocation* found = state().memory.find(address);
      if (found == nullptr || !can_access(device, *found)) return nullptr;
      return &found->buffer;
    };
    try {
      KernelTrace trace = run_kernel(*step.kernel, step.launch, step.arguments->data(), buffer_of);
      return {.accessed = std::move(trace.accessed)};
    } catch (const KernelFault& fault) {
      return {.status = fault.status(), .text = fault.what()};
    }
  };
  return {.what = std::string("kernel ") + step.kernel->name, .run = run};
}

Task make_one(const CopyStep& step, int) {
  Task task{.what = "copy"};
  if (step.bytes == 0) return task;
  if (!step.from_pageable) task.operands.push_back({.at = step.from, .bytes = step.bytes});
  if (!step.to_pageable) {
    task.operands.push_back({.at = step.to, .bytes = step.bytes, .written = true});
  }
  task.run = [step]() -> Outcome {
    const void* from = step.staged != nullptr ? step.staged->data()
                       : step.from_pageable   ? step.from
                                              : find_range(step.from, step.bytes);
    void* to = step.to_pageable ? step.to : find_range(step.to, step.bytes);
    if (from == nullptr || to == nullptr) return freed_memory();
    std::memmove(to, from, step.bytes);
    return {};
  };
  return task;
}

Task make_one(const SetStep& step, int) {
  Task task{.what = "memset"};
  if (step.bytes == 0) return task;
  task.operands.push_back({.at = step.at, .bytes = step.bytes, .written = true});
  task.run = [step]() -> Outcome {
    std::byte* at = find_range(step.at, step.bytes);
    if (at == nullptr) return freed_memory();
    for (std::size_t i = 0; i < step.bytes; i += step.value_bytes) {
      std::memcpy(at + i, &step.value, step.value_bytes);
    }
    return {};
  };
  return task;
}

Task make_one(const HostStep& step, int) {
  const auto run = [step]() -> Outcome {
    thread_state().in_host_function = true;
    step.function(step.data);
    thread_state().in_host_function = false;
    return {};
  };
  return {.what = "host function", .run = run};
}

Task make_one(const WorkStep& step, int) {
  const auto run = [work = step.work]() -> Outcome {
    return {.status = work->run ? work->run() : cudaSuccess};
  };
  return {.what = step.work->what, .operands = step.work->operands, .run = run};
}

Task make_one(const WaitStep&, int) { return {.what = "wait for an event"}; }
Task make_one(const RecordStep&, int) { return {.what = "record an event"}; }

}  // namespace

Arguments::Arguments(const HostKernel& kernel, void* const* arguments) {
  constexpr std::size_t kUnit = sizeof(std::max_align_t);
  std::vector<std::size_t> offsets;
  std::size_t units = 0;
  for (const Parameter& parameter : kernel.parameters) {
    offsets.push_back(units);
    units += (parameter.bytes + kUnit - 1) / kUnit;
  }
  bytes_.resize(units);
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    pointers_.push_back(bytes_.data() + offsets[i]);
    std::memcpy(pointers_.back(), arguments[i], kernel.parameters[i].bytes);
  }
}

Task make_task(const Step& step, int device) {
  return std::visit([&](const auto& one) { return make_one(one, device); }, step);
}

}  // namespace towerflow::cuda::host
