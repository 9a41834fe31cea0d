#pragma once

#include "core/device/backend.h"
#include "core/device/config.h"

namespace towerflow {

class ThreadPool;

/// The kernels that run on CPUs; entries of the library enter through `register_cpu_kernels`, those
/// of a program through `add_cpu_kernel`.
KernelTable& cpu_kernels();

/// Adds a program's own kernel behind those that its op has; simulated accelerators run it too.
/// Nothing may have been planned yet: a program calls this before it builds its first graph.
///
/// errors   KeyError: no such op; ValueError: no `prepare`, or the op has a kernel of that label;
///          RuntimeError: some kernel has been looked for already
void add_cpu_kernel(KernelEntry entry);

/// The kernel of the table that takes the request, nullptr when there is none. From the first call
/// on the table is read without a lock, and stays as it is.
const KernelEntry* find_cpu_kernel(const KernelRequest& request);

/// Fills the table with the kernels of the library; defined above this folder, in
/// ops/register_all.cc.
void register_cpu_kernels(KernelTable& table);

/// Logical CPUs /cpu:0 .. /cpu:k-1 on one pool of threads.
///
/// Each logical device runs its instructions on one thread at a time; slices of a kernel are also
/// taken by threads of cores that no logical device keeps busy at that moment.
class CpuBackend final : public Backend {
 public:
  /// `threads` compute threads in all, 0 for one per core.
  CpuBackend(int devices, int threads);
  ~CpuBackend() override;

  const char* type() const override { return "CPU"; }
  const char* kind() const override { return "a logical CPU"; }
  int device_count() const override { return devices_; }
  MemorySpace space(int) const override { return kHostSpace; }
  Pace pace(int) const override { return {}; }
  std::string description(int device) const override;
  std::shared_ptr<void> allocate(int device, std::size_t bytes) override;
  std::unique_ptr<Queue> make_queue(int device, Lane lane) override;
  std::shared_ptr<Event> make_event() override;
  const KernelEntry* find_kernel(const KernelRequest& request) const override;
  ThreadPool& pool() { return *pool_; }

 private:
  int devices_;
  std::unique_ptr<ThreadPool> pool_;
};

/// As many as `device_count` says, one when it says nothing. Throws ValueError for options that do
/// not fit.
std::shared_ptr<Backend> make_cpu_backend(const ConfigProto& config);

/// The queue of one logical CPU in one run: work is done at once, on the thread that enqueues it.
class CpuQueue final : public Queue {
 public:
  explicit CpuQueue(ThreadPool& pool) : pool_(pool) {}
  void start(bool timed) override;
  void begin(std::size_t index, Span* span) override;
  void end() override;
  void copy(void* to, const void* from, std::size_t bytes) override;
  void record(Event& event) override;
  void wait(Event& event, Cancellation& cancellation) override;
  void wait(const Moment& moment, Cancellation& cancellation) override;
  std::optional<QueueError> synchronize() noexcept override { return std::nullopt; }
  ThreadPool& pool() { return pool_; }

 private:
  ThreadPool& pool_;
  QueueClock clock_{{}};
  bool timed_ = false;
};

}  // namespace towerflow
