#include "core/device/cpu/cpu_backend.h"

#include <fmt/format.h>

#include <cstring>

#include "core/device/cpu/launch.h"
#include "core/device/cpu/thread_pool.h"
#include "core/device/host_event.h"

namespace towerflow {
namespace {

class SlicedKernel final : public PreparedKernel {
 public:
  SlicedKernel(std::unique_ptr<CpuKernel> kernel, std::vector<InPlacePair> in_place)
      : kernel_(std::move(kernel)), in_place_(std::move(in_place)) {}
  std::size_t workspace_bytes() const override { return kernel_->workspace_bytes(); }
  std::vector<InPlacePair> in_place() const override { return in_place_; }
  void enqueue(Queue& queue, const LaunchArgs& args) const override {
    static_cast<CpuQueue&>(queue).pool().run_kernel(*kernel_, args.inputs, args.outputs,
                                                    args.workspace);
  }

 private:
  std::unique_ptr<CpuKernel> kernel_;
  std::vector<InPlacePair> in_place_;
};

}  // namespace

std::unique_ptr<PreparedKernel> sliced_kernel(std::unique_ptr<CpuKernel> kernel,
                                              std::vector<InPlacePair> in_place) {
  return std::make_unique<SlicedKernel>(std::move(kernel), std::move(in_place));
}

KernelTable& cpu_kernels() {
  static KernelTable* table = [] {
    auto* made = new KernelTable;  // plans hold entries: it lives as long as the process
    register_cpu_kernels(*made);
    return made;
  }();
  return *table;
}

CpuBackend::CpuBackend(int devices, int threads)
    : devices_(devices), pool_(std::make_unique<ThreadPool>(threads)) {}

CpuBackend::~CpuBackend() = default;

std::string CpuBackend::description(int) const {
  return fmt::format("logical CPU, {} compute threads shared by all", pool_->cores());
}

std::shared_ptr<void> CpuBackend::allocate(int, std::size_t bytes) {
  return Array(DType::uint8, Shape{bytes}).owner();
}

std::unique_ptr<Queue> CpuBackend::make_queue(int, Lane) {
  return std::make_unique<CpuQueue>(*pool_);
}
std::unique_ptr<Event> CpuBackend::make_event() { return std::make_unique<HostEvent>(); }

const KernelEntry* CpuBackend::find_kernel(const KernelRequest& request) const {
  return cpu_kernels().find(request);
}

void CpuQueue::copy(void* to, const void* from, std::size_t bytes) { std::memcpy(to, from, bytes); }

void CpuQueue::record(Event& event) { static_cast<HostEvent&>(event).set(); }

void CpuQueue::wait(Event& event, Cancellation& cancellation) {
  auto& host_event = static_cast<HostEvent&>(event);
  if (host_event.is_set()) return;
  const ThreadPool::Blocked idle(pool_);  // helpers may use this thread's core meanwhile
  host_event.wait(cancellation);
}

}  // namespace towerflow
