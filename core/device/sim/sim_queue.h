#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <random>
#include <span>
#include <vector>

#include "core/device/cpu/cpu_backend.h"
#include "core/device/host_event.h"
#include "core/device/sim/sim_memory.h"
#include "core/device/sim/sim_options.h"
#include "core/device/sim/sim_threads.h"

namespace towerflow {

Pace pace_of(const SimulatedDevices& options, int device);

/// State shared by the queues of a simulated accelerator.
struct SimDevice {
  SimDevice(int device, const SimulatedDevices& given,
            std::span<const std::shared_ptr<SimMemory>> all, ThreadPool& pool, SimThreads& workers)
      : number(device),
        options(given),
        memories(all),
        cores(pool),
        threads(workers),
        tasks_until_fault(given.fault.task) {}

  const int number;
  const SimulatedDevices& options;
  std::span<const std::shared_ptr<SimMemory>> memories;  // of all simulated devices
  ThreadPool& cores;  // runs the kernels, on one core: that of the calling thread
  SimThreads& threads;
  std::atomic<int> tasks_until_fault;  // tasks left before the injected fault of the faulty engine
};

/// The number of operands of a kernel, and the inputs that it reads from host memory, in ascending
/// order.
struct SimOperands {
  std::size_t inputs = 0;
  std::size_t outputs = 0;
  std::vector<int> on_host{};
};

/// The queue of one engine of a simulated accelerator. A thread of the device does the work in
/// order; copies and slowed-down kernels are extended to their simulated time.
class SimQueue final : public Queue {
 public:
  SimQueue(SimDevice& device, Lane lane);
  ~SimQueue() override { synchronize(); }

  bool asynchronous() const override { return true; }
  void start(bool timed) override;
  void begin(std::size_t index, Span* span) override;
  void end() override {}
  void copy(void* to, const void* from, std::size_t bytes) override;
  void record(Event& event) override;
  void wait(Event& event, Cancellation& cancellation) override;
  void wait(const EventUse& moment, Cancellation& cancellation) override;
  bool failed() const override;
  std::optional<QueueError> synchronize() noexcept override;
  double virtual_time() const override { return clock_.now(); }
  void advance(double time) override { clock_.waited(time); }

  /// Runs `kernel` on operands in the device's memory, except for inputs that it reads from host
  /// memory. If an operand is elsewhere, `synchronize` reports an InternalError, as a real device
  /// would abort the launch.
  void launch(const PreparedKernel& kernel, const LaunchArgs& args, const SimOperands& operands);
  /// Runs the queue's tasks until `synchronize` asks for the end; called on a thread of the device.
  void run_tasks();
  /// Marks that the thread has left the queue, which lets `synchronize` return.
  void end_service();

 private:
  struct Task {
    std::size_t instruction = 0;
    Span* span = nullptr;
    const PreparedKernel* kernel = nullptr;  // set for a launch
    const SimOperands* operands = nullptr;
    std::size_t first_operand = 0;
    LaunchArgs args{};
    void* to = nullptr;  // set for a copy
    const void* from = nullptr;
    std::size_t bytes = 0;
    HostEvent* recorded = nullptr;
    Event* awaited = nullptr;  // event of this run
    EventUse moment{};         // awaited event use of another run
  };

  void add(Task task);
  void take_operands(const Task& task);
  void run(const Task& task);
  void run_kernel(const Task& task);
  void run_copy(const Task& task);
  void inject_faults();
  /// Returns the host address of a byte in the memory of any device or of the host.
  void* to_host_address(const void* address) const;

  SimDevice& device_;
  const SimMemory& memory_;  // of the queue's device
  const Pace pace_;
  const Lane lane_;
  std::mt19937 random_;
  CpuQueue cores_;
  QueueClock clock_;
  std::size_t instruction_ = 0;  // of the task being enqueued
  Span* span_ = nullptr;

  mutable std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  std::vector<Task> tasks_;
  std::size_t next_ = 0;               // the first task that has not been started
  std::vector<const void*> operands_;  // of all kernels in `tasks_`
  std::optional<QueueError> error_;
  bool has_thread_ = false;  // whether a thread serves the queue
  bool draining_ = false;    // whether `synchronize` is waiting for the end

  std::vector<const void*> inputs_;  // of the running kernel
  std::vector<void*> outputs_;
};

}  // namespace towerflow
