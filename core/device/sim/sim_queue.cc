#include "core/device/sim/sim_queue.h"

#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "core/device/pinned_memory.h"
#include "core/graph/error.h"

namespace towerflow {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

/// Sleeps until `seconds` have passed since `start`; skips times that are too short to sleep.
void sleep_until_passed(Clock::time_point start, double seconds) {
  constexpr double kShortest = 20e-6;
  const double left = seconds - Seconds(Clock::now() - start).count();
  if (left > kShortest) std::this_thread::sleep_for(Seconds(left));
}

}  // namespace

Pace pace_of(const SimulatedDevices& options, int device) {
  const auto slow = options.slow.find(device);
  return {.simulated = true,
          .slowdown = slow == options.slow.end() ? 1 : slow->second,
          .latency = options.latency,
          .bytes_per_second = options.bandwidth};
}

SimQueue::SimQueue(SimDevice& device, Lane lane)
    : device_(device),
      memory_(*device.memories[static_cast<std::size_t>(device.number)]),
      pace_(pace_of(device.options, device.number)),
      lane_(lane),
      random_(device.options.jitter_seed * 4096u + static_cast<unsigned>(device.number) * 4u +
              static_cast<unsigned>(lane)),
      cores_(device.cores),
      clock_(pace_) {}

void SimQueue::start(bool) { clock_.start(); }

void SimQueue::begin(std::size_t index, Span* span) {
  instruction_ = index;
  span_ = span;
}

// --- on the thread that enqueues -----------------------------------------------------------------

void SimQueue::add(Task task) {
  task.instruction = instruction_;
  // What follows in the same instruction, such as a record, is not part of the kernel or the copy.
  const bool works = task.kernel != nullptr || task.to != nullptr;
  task.span = works ? std::exchange(span_, nullptr) : span_;
  std::lock_guard lock(mutex_);
  tasks_.push_back(std::move(task));
  if (std::exchange(has_thread_, true)) {
    changed_.notify_all();
    return;
  }
  try {
    device_.threads.assign_thread(*this);
  } catch (...) {
    has_thread_ = false;
    tasks_.clear();
    throw;
  }
}

void SimQueue::copy(void* to, const void* from, std::size_t bytes) {
  add({.to = to, .from = from, .bytes = bytes});
}

void SimQueue::launch(const PreparedKernel& kernel, const LaunchArgs& args,
                      const SimOperands& operands) {
  Task task{.kernel = &kernel, .operands = &operands, .args = args};
  {
    std::lock_guard lock(mutex_);
    task.first_operand = operands_.size();
    operands_.insert(operands_.end(), args.inputs, args.inputs + operands.inputs);
    operands_.insert(operands_.end(), args.outputs, args.outputs + operands.outputs);
  }
  add(std::move(task));
}

void SimQueue::record(Event& event) {
  auto& own = static_cast<HostEvent&>(event);
  add({.recorded = &own});
  own.set_recorded();
}

void SimQueue::wait(Event& event, Cancellation& cancellation) {
  event.await_recorded(cancellation);
  if (cancellation.cancelled()) return;  // the event may never be recorded
  add({.awaited = &event});
}

void SimQueue::wait(const EventUse& moment, Cancellation&) { add({.moment = moment}); }

bool SimQueue::failed() const {
  std::lock_guard lock(mutex_);
  return error_.has_value();
}

std::optional<QueueError> SimQueue::synchronize() noexcept {
  std::unique_lock lock(mutex_);
  draining_ = true;
  changed_.notify_all();
  changed_.wait(lock, [this] { return !has_thread_; });
  draining_ = false;
  return std::exchange(error_, std::nullopt);
}

// --- on a thread of the device -------------------------------------------------------------------

void SimQueue::run_tasks() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return next_ < tasks_.size() || draining_; });
    if (next_ == tasks_.size()) break;
    const Task task = std::move(tasks_[next_++]);
    if (task.kernel != nullptr) take_operands(task);
    lock.unlock();
    clock_.begin(task.span);
    run(task);
    clock_.end();
    lock.lock();
  }
  tasks_.clear();
  operands_.clear();
  next_ = 0;
}

void SimQueue::take_operands(const Task& task) {
  const auto* operand = operands_.data() + task.first_operand;
  inputs_.assign(operand, operand + task.operands->inputs);
  operand += task.operands->inputs;
  outputs_.clear();
  for (std::size_t i = 0; i < task.operands->outputs; ++i) {
    outputs_.push_back(const_cast<void*>(operand[i]));
  }
}

void SimQueue::end_service() {
  std::lock_guard lock(mutex_);
  has_thread_ = false;
  changed_.notify_all();
}

/// After an error, only waits and records are still executed.
void SimQueue::run(const Task& task) {
  const bool left_out = failed();
  try {
    if (task.awaited != nullptr) {
      task.awaited->await_done(task.awaited->use(), nullptr);
      clock_.waited(task.awaited->virtual_time);
      if (task.awaited->failed())
        throw errors::CancelledError("an operation that this one waits for has failed");
    } else if (task.moment.event != nullptr) {
      task.moment.event->await_done(task.moment.use, nullptr);
      if (task.moment.failed())
        throw errors::CancelledError("an operation of another run has failed");
    } else if (task.recorded != nullptr) {
      clock_.recorded();
      task.recorded->virtual_time = clock_.now();
      task.recorded->set_done(left_out);
    } else if (!left_out) {
      inject_faults();
      task.kernel != nullptr ? run_kernel(task) : run_copy(task);
    }
  } catch (...) {
    std::lock_guard lock(mutex_);
    if (!error_) error_ = {std::current_exception(), task.instruction};
  }
}

void SimQueue::inject_faults() {
  const SimulatedDevices& options = device_.options;
  const SimulatedFault& fault = options.fault;
  if (fault.task >= 0 && fault.device == device_.number && fault.lane == lane_ &&
      device_.tasks_until_fault-- == 0) {
    throw errors::InternalError(fmt::format("simulated fault of accelerator {}, {} engine",
                                            device_.number, lane_name(lane_)));
  }
  if (options.jitter <= 0) return;
  std::uniform_real_distribution<double> draw(0, options.jitter);
  std::this_thread::sleep_for(Seconds(draw(random_)));
}

void SimQueue::run_copy(const Task& task) {
  const auto start = Clock::now();
  std::memcpy(to_host_address(task.to), to_host_address(task.from), task.bytes);
  sleep_until_passed(start, pace_.copy_seconds(task.bytes));
  clock_.copied(task.bytes);
}

void* SimQueue::to_host_address(const void* address) const {
  auto* at = const_cast<std::byte*>(static_cast<const std::byte*>(address));
  for (const auto& memory : device_.memories) {
    if (memory->contains(at)) return memory->to_host_address(at);
  }
  if (is_pinned(at)) return at;
  throw errors::InternalError(
      fmt::format("illegal memory access: a copy of simulated accelerator {} has an operand in "
                  "pageable memory of the host",
                  device_.number));
}

void SimQueue::run_kernel(const Task& task) {
  const auto check_in_memory = [this](const void* address, const char* what, std::size_t index) {
    if (memory_.contains(address)) return;
    throw errors::InternalError(
        fmt::format("illegal memory access: {} {} is not in the memory of simulated accelerator {}",
                    what, index, device_.number));
  };
  auto host = task.operands->on_host.begin();
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (host != task.operands->on_host.end() && *host == static_cast<int>(i)) {
      ++host;
      continue;
    }
    check_in_memory(inputs_[i], "input", i);
    inputs_[i] = memory_.to_host_address(static_cast<const std::byte*>(inputs_[i]));
  }
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    check_in_memory(outputs_[i], "output", i);
    outputs_[i] = memory_.to_host_address(static_cast<std::byte*>(outputs_[i]));
  }
  LaunchArgs seen = task.args;
  seen.inputs = inputs_.data();
  seen.outputs = outputs_.data();
  if (seen.workspace != nullptr) seen.workspace = memory_.to_host_address(seen.workspace);
  const auto start = Clock::now();
  enqueue_checked(*task.kernel, cores_, seen);
  if (pace_.slowdown > 1) {
    sleep_until_passed(start, pace_.slowdown * Seconds(Clock::now() - start).count());
  }
}

}  // namespace towerflow
