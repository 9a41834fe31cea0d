#include "core/device/cpu/cpu_backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "core/device/cpu/launch.h"
#include "core/device/cpu/thread_pool.h"
#include "core/device/cpu/widened_kernel.h"
#include "core/device/host_event.h"
#include "core/device/huge_pages.h"
#include "core/device/short_operands.h"

namespace towerflow {
namespace {

class SlicedKernel final : public PreparedKernel {
 public:
  SlicedKernel(std::unique_ptr<CpuKernel> kernel, std::vector<InPlacePair> in_place)
      : kernel_(std::move(kernel)), in_place_(std::move(in_place)) {}
  std::size_t workspace_bytes() const override { return kernel_->workspace_bytes(); }
  std::vector<InPlacePair> in_place() const override { return in_place_; }
  bool may_fail() const override { return kernel_->may_fail(); }
  void enqueue(Queue& queue, const LaunchArgs& args) const override {
    static_cast<CpuQueue&>(queue).pool().run_kernel(*kernel_, args.inputs, args.outputs,
                                                    args.workspace);
  }

 private:
  std::unique_ptr<CpuKernel> kernel_;
  std::vector<InPlacePair> in_place_;
};

std::atomic<bool> table_in_use{false};

}  // namespace

std::unique_ptr<PreparedKernel> sliced_kernel(std::unique_ptr<CpuKernel> kernel,
                                              std::vector<InPlacePair> in_place) {
  return std::make_unique<SlicedKernel>(std::move(kernel), std::move(in_place));
}

KernelTable& cpu_kernels() {
  static KernelTable* table = [] {
    auto* made = new KernelTable;  // never destroyed: plans point to its entries
    register_cpu_kernels(*made);
    return made;
  }();
  return *table;
}

void add_cpu_kernel(KernelEntry entry) {
  const ErrorDetail detail{.op = entry.op};
  if (OpRegistry::global().find(entry.op) == nullptr) {
    throw KeyError(fmt::format("no op '{}' is registered", entry.op),
                   {.hint = "add the op to OpRegistry::global() first"});
  }
  if (!entry.prepare) throw ValueError("a kernel needs a `prepare`", detail);
  if (table_in_use.load(std::memory_order_acquire)) {
    throw RuntimeError(
        "kernels are added before the first graph is built",
        {.op = entry.op, .hint = "existing plans keep the kernels that they were compiled with"});
  }
  const auto& known = cpu_kernels().entries();
  if (const auto of_op = known.find(entry.op); of_op != known.end()) {
    const auto same = [&](const KernelEntry& other) { return other.label == entry.label; };
    if (std::any_of(of_op->second.begin(), of_op->second.end(), same)) {
      throw ValueError(fmt::format("'{}' has a kernel '{}' already", entry.op, entry.label),
                       detail);
    }
  }
  cpu_kernels().add(std::move(entry));
}

const KernelEntry* find_cpu_kernel(const KernelRequest& request) {
  table_in_use.store(true, std::memory_order_release);
  if (!computes_short_floats(request)) return cpu_kernels().find(request);
  const KernelEntry* entry = cpu_kernels().find(widened(request));
  return entry == nullptr ? nullptr : &widened_entry(*entry);
}

std::shared_ptr<Backend> make_cpu_backend(const ConfigProto& config) {
  const auto it = config.device_count.find("CPU");
  const int count = it == config.device_count.end() ? 1 : it->second;
  if (count < 1 || count > kMaxDevices) {
    throw ValueError(
        fmt::format("device_count of CPU must be from 1 to {}, got {}", kMaxDevices, count));
  }
  if (config.intra_op_parallelism_threads < 0) {
    throw ValueError(fmt::format("intra_op_parallelism_threads must not be negative, got {}",
                                 config.intra_op_parallelism_threads));
  }
  // The virtual clock assumes one core for the host.
  const bool one_core = config.simulated.count > 0 && config.intra_op_parallelism_threads == 0;
  return std::make_shared<CpuBackend>(count, one_core ? 1 : config.intra_op_parallelism_threads);
}

CpuBackend::CpuBackend(int devices, int threads)
    : devices_(devices), pool_(std::make_unique<ThreadPool>(threads)) {}

CpuBackend::~CpuBackend() = default;

std::string CpuBackend::description(int) const {
  return fmt::format("logical CPU, {} compute threads shared by all", pool_->cores());
}

std::shared_ptr<void> CpuBackend::allocate(int, std::size_t bytes) {
  const Array memory(DType::uint8, Shape{bytes});
  request_huge_pages(memory.data<std::uint8_t>(), bytes);
  return memory.owner();
}

std::unique_ptr<Queue> CpuBackend::make_queue(int, Lane) {
  return std::make_unique<CpuQueue>(*pool_);
}
std::shared_ptr<Event> CpuBackend::make_event() { return std::make_shared<HostEvent>(); }

const KernelEntry* CpuBackend::find_kernel(const KernelRequest& request) const {
  return find_cpu_kernel(request);
}

void CpuQueue::start(bool timed) {
  timed_ = timed;
  clock_.start();
}

void CpuQueue::begin(std::size_t, Span* span) {
  if (timed_) clock_.begin(span);
}

void CpuQueue::end() {
  if (timed_) clock_.end();
}

void CpuQueue::copy(void* to, const void* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
  clock_.copied(bytes);
}

void CpuQueue::record(Event& event) {
  event.virtual_time = clock_.now();
  static_cast<HostEvent&>(event).set_done();
}

void CpuQueue::wait(Event& event, Cancellation& cancellation) {
  if (!event.done()) {
    const auto ended = [&] { return event.done() || cancellation.cancelled(); };
    const ThreadPool::Blocked idle(pool_, ended);  // others may use this thread's core meanwhile
    event.await_done(event.use(), &cancellation);
    if (!event.done()) return;  // the run was cancelled
  }
  if (event.failed())
    throw errors::CancelledError("an operation that this one waits for has failed");
  clock_.waited(event.virtual_time);
}

void CpuQueue::wait(const EventUse& moment, Cancellation& cancellation) {
  if (!moment.over()) {
    const auto ended = [&] { return moment.over() || cancellation.cancelled(); };
    const ThreadPool::Blocked idle(pool_, ended);
    moment.event->await_done(moment.use, &cancellation);
    if (!moment.over()) throw errors::CancelledError("the run was cancelled");
  }
  if (moment.failed()) throw errors::CancelledError("an operation of another run has failed");
}

}  // namespace towerflow
