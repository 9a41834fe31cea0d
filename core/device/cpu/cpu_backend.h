#pragma once

#include "core/device/backend.h"
#include "core/device/config.h"

namespace towerflow {

class ThreadPool;

/// Returns the table of CPU kernels. `register_cpu_kernels` adds those of the library,
/// `add_cpu_kernel` those of a program.
KernelTable& cpu_kernels();

/// Adds a kernel defined by the program after the existing kernels of its op; simulated
/// accelerators run it too. A program must call this before it builds its first graph.
///
/// errors   KeyError: no such op; ValueError: no `prepare`, or the op has a kernel of that label;
///          RuntimeError: a kernel has been looked up already
void add_cpu_kernel(KernelEntry entry);

/// Returns the entry for a request, nullptr if there is none. The first call freezes the table,
/// which is then read without a lock.
const KernelEntry* find_cpu_kernel(const KernelRequest& request);

/// Fills the table with the kernels of the library. Defined in ops/register_all.cc, a layer above
/// this one.
void register_cpu_kernels(KernelTable& table);

/// Logical CPUs /cpu:0 .. /cpu:k-1 on one pool of threads.
///
/// Each logical device runs its instructions on one thread at a time. Slices of a kernel are also
/// run by helper threads on cores that no logical device is using.
class CpuBackend final : public Backend {
 public:
  /// `threads` is the total number of compute threads, 0 for one per core.
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

/// Makes the logical CPUs that `device_count` asks for, one by default. Throws ValueError for
/// invalid options.
std::shared_ptr<Backend> make_cpu_backend(const ConfigProto& config);

/// The queue of one logical CPU in one run. Work is done at once, on the thread that enqueues it.
class CpuQueue final : public Queue {
 public:
  explicit CpuQueue(ThreadPool& pool) : pool_(pool) {}
  void start(bool timed) override;
  void begin(std::size_t index, Span* span) override;
  void end() override;
  void copy(void* to, const void* from, std::size_t bytes) override;
  void record(Event& event) override;
  void wait(Event& event, Cancellation& cancellation) override;
  void wait(const EventUse& moment, Cancellation& cancellation) override;
  std::optional<QueueError> synchronize() noexcept override { return std::nullopt; }
  double virtual_time() const override { return clock_.now(); }
  void advance(double time) override { clock_.waited(time); }
  ThreadPool& pool() { return pool_; }

 private:
  ThreadPool& pool_;
  QueueClock clock_{{}};
  bool timed_ = false;
};

}  // namespace towerflow
