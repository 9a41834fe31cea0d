#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>

#include "core/device/event.h"
#include "cuda/backend/error_records.h"

namespace towerflow::cuda {

class Device;

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

  /// Records the event in a stream of the device. Its work has failed if `failed`, or if one of the
  /// launches that have a record by now says so; `records` may be null.
  void record(const Device& device, cudaStream_t stream,
              const std::shared_ptr<ErrorRecords>& records, bool failed);
  /// Marks the event as recorded and done although CUDA does not know it: its queue has failed.
  void give_up();
  /// Marks a use as failed.
  void mark_failed(std::uint64_t use);

  /// Makes later work of a stream wait for the event.
  void make_wait(cudaStream_t stream) const;
  /// Returns whether its work has failed or may fail because of its data, which only the host can
  /// tell.
  bool may_fail() const;

 private:
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};

  bool recorded(std::uint64_t use) const {
    return recorded_use_.load(std::memory_order_acquire) == use;
  }
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
  std::shared_ptr<ErrorRecords> records_;
  std::size_t checked_ = 0;  // launches with a record before the event
};

}  // namespace towerflow::cuda
