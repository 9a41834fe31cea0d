#include "core/device/cpu/cpu_backend.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "core/device/cpu/launch.h"
#include "core/device/cpu/thread_pool.h"

namespace towerflow {
namespace {

/// Set by the thread that records it, waited for by others: spins a little, then sleeps.
class CpuEvent final : public Event {
 public:
  void reset() override { done_.store(false, std::memory_order_relaxed); }

  void set() {
    {
      std::lock_guard lock(mutex_);
      done_.store(true, std::memory_order_release);
    }
    changed_.notify_all();
  }

  bool is_set() const { return done_.load(std::memory_order_acquire); }

  void wait(Cancellation& cancellation) {
    if (is_set()) return;
    const CancellationCallback wake(cancellation, [this] {
      std::lock_guard lock(mutex_);
      cancelled_ = true;
      changed_.notify_all();
    });
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return is_set() || cancelled_; });
    cancelled_ = false;
  }

 private:
  std::atomic<bool> done_{false};
  bool cancelled_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
};

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

std::unique_ptr<Queue> CpuBackend::make_queue(int) { return std::make_unique<CpuQueue>(*pool_); }
std::unique_ptr<Event> CpuBackend::make_event() { return std::make_unique<CpuEvent>(); }

const KernelEntry* CpuBackend::find_kernel(const KernelRequest& request) const {
  return cpu_kernels().find(request);
}

void CpuQueue::record(Event& event) { static_cast<CpuEvent&>(event).set(); }

void CpuQueue::wait(Event& event, Cancellation& cancellation) {
  auto& cpu_event = static_cast<CpuEvent&>(event);
  if (cpu_event.is_set()) return;
  const ThreadPool::Blocked idle(pool_);  // helpers may use this thread's core meanwhile
  cpu_event.wait(cancellation);
}

}  // namespace towerflow
