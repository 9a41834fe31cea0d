#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "core/device/event.h"
#include "cuda/backend/error_records.h"

namespace towerflow::cuda {

class Device;

/// What the host has to look at to know whether work found its data wrong: launches of its queue,
/// and of queues that it has waited for.
using Checks = std::vector<CheckedLaunches>;
/// Adds launches to `all`, which has those of each queue once. Returns whether they were new.
bool add_checks(Checks& all, const CheckedLaunches& launches);

/// An event of CUDA. The host knows when it has been recorded; whether its work has ended, and how,
/// is asked of CUDA.
class CudaEvent final : public Event, public std::enable_shared_from_this<CudaEvent> {
 public:
  explicit CudaEvent(std::shared_ptr<Driver> driver) : driver_(std::move(driver)) {}
  ~CudaEvent() override;

  void reset() override;
  bool done() const override;
  bool failed() const override;
  void await_recorded(Cancellation& cancellation) override { await(use(), &cancellation); }
  void await_done(std::uint64_t use, Cancellation* cancellation) override;
  /// Waits until use number `use` is recorded; returns early if the run is cancelled.
  void await_recorded(std::uint64_t use, Cancellation& cancellation) { await(use, &cancellation); }

  /// Records the event in a stream of the device. Its work has failed if `failed`, or if one of the
  /// launches before it has found wrong data: `own` of its queue, or `others` that the queue has
  /// waited for.
  void record(const Device& device, cudaStream_t stream, const CheckedLaunches& own,
              const Checks& others, bool failed);
  /// Returns the event of CUDA for a stream of the device, which may be recorded in a graph; then
  /// `note_recorded` tells that the graph was launched.
  cudaEvent_t handle_on(const Device& device);
  void note_recorded(const CheckedLaunches& own, const Checks& others);
  /// Marks the event as recorded and done although CUDA does not know it: its queue has failed.
  void give_up();
  /// Returns whether the current use has been recorded or given up.
  bool recorded() const { return recorded(use()); }
  /// Waits until the current use is recorded or given up, but no longer than `time`. Returns
  /// whether it is.
  bool await_recorded_for(std::chrono::microseconds time);
  /// Marks a use as failed.
  void mark_failed(std::uint64_t use);

  /// Makes later work of a stream wait for the event.
  void make_wait(cudaStream_t stream) const;
  /// Returns the event of CUDA, for a wait in a graph; null if it has never been recorded.
  cudaEvent_t handle() const;
  /// Adds the launches to `all` that may still find their data wrong, if there are any.
  void add_checks(Checks& all) const;

 private:
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};

  bool recorded(std::uint64_t use) const {
    return recorded_use_.load(std::memory_order_acquire) == use;
  }
  cudaEvent_t made_on(const Device& device);
  void set_recorded();
  void await(std::uint64_t use, Cancellation* cancellation);
  /// Returns whether CUDA has done the work of a use, which has been recorded.
  bool has_ended(std::uint64_t use) const;

  std::shared_ptr<Driver> driver_;
  std::atomic<std::uint64_t> recorded_use_{kNone};
  mutable std::atomic<std::uint64_t> ended_use_{kNone};   // the last that is known to have ended
  mutable std::atomic<std::uint64_t> broken_use_{kNone};  // whose end CUDA reported as an error

  mutable std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  cudaEvent_t event_ = nullptr;
  int device_ = -1;  // of event_
  CheckedLaunches own_;
  Checks others_;
};

}  // namespace towerflow::cuda
