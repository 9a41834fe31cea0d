#include "cuda/host/host_kernel.h"

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>

#include "cuda/host/device_code.h"

namespace towerflow::cuda::host {
namespace {

/// Sorted by name. Filled while static objects are made, by one thread.
std::vector<HostKernel>& registry() {
  static std::vector<HostKernel> kernels;
  return kernels;
}

thread_local std::vector<HostKernel>* collected = nullptr;

auto position_of(std::string_view name) {
  return std::lower_bound(
      registry().begin(), registry().end(), name,
      [](const HostKernel& kernel, std::string_view n) { return kernel.name < n; });
}

}  // namespace

CollectKernels::CollectKernels(std::vector<HostKernel>& kernels) { collected = &kernels; }
CollectKernels::~CollectKernels() { collected = nullptr; }

void add_kernel(const HostKernel& kernel) {
  if (collected != nullptr) return collected->push_back(kernel);
  const auto at = position_of(kernel.name);
  if (at != registry().end() && at->name == std::string_view(kernel.name)) {
    throw std::logic_error("two kernels are called " + std::string(kernel.name));
  }
  registry().insert(at, kernel);
}

const HostKernel* find_kernel(std::string_view name) {
  const auto at = position_of(name);
  return at != registry().end() && at->name == name ? &*at : nullptr;
}

std::span<const HostKernel> kernels() { return registry(); }

KernelRecord::KernelRecord(const char* name, unsigned max_threads, std::size_t static_shared,
                           bool meets, void (*thread)(void* const*))
    : kernel_(new HostKernel{name, {}, max_threads, static_shared, meets, thread}) {}

KernelRecord::~KernelRecord() {
  const std::unique_ptr<HostKernel> kernel(kernel_);
  add_kernel(*kernel);
}

void KernelRecord::add_parameter(std::size_t bytes) { kernel_->parameters.push_back({bytes, {}}); }
void KernelRecord::add_pointer(std::size_t offset) {
  kernel_->parameters.back().pointers.push_back(offset);
}

}  // namespace towerflow::cuda::host
