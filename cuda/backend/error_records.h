#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>

#include "cuda/backend/driver.h"
#include "cuda/device/data_error.h"

namespace towerflow::cuda {

class ErrorRecords;

/// Launches of a queue with a record, in one run.
struct CheckedLaunches {
  std::shared_ptr<ErrorRecords> records;  ///< null: none
  std::size_t begin = 0, end = 0;

  bool any_wrong() const;
};

/// Records in pinned memory into which kernels write that their data are wrong: a label that is no
/// class, an index that is no row. Each launch of such a kernel gets its own, which is empty before
/// it. The host reads them when an event after the launch is done.
///
/// Launches are numbered from 0 on; those before number `known` are known to have found nothing
/// wrong, or have been reported. The queue that owns the records takes and forgets them, other
/// threads read; what was wrong stays known after it was forgotten. A run that launches the same
/// kernels as the one before gets the same addresses.
class ErrorRecords {
 public:
  explicit ErrorRecords(const Driver& driver);
  ErrorRecords(const ErrorRecords&) = delete;
  ErrorRecords& operator=(const ErrorRecords&) = delete;

  /// Begins a run; all launches have been forgotten.
  void begin_run();
  /// The launches of this run.
  std::size_t taken_in_run() const { return taken() - run(); }
  /// Returns the address for the next launch, for which there must be room.
  device::DataError* take();
  /// Takes back the last ones, whose launches were not made.
  void give_back(std::size_t count) { taken_.fetch_sub(count, std::memory_order_acq_rel); }
  bool has_room(std::size_t launches = 1) const { return taken() + launches - known() <= kMost; }
  std::size_t taken() const { return taken_.load(std::memory_order_acquire); }
  std::size_t known() const { return known_.load(std::memory_order_acquire); }
  /// Returns the number of the first launch before number `end` that found something wrong; `end`
  /// if none did.
  std::size_t first_wrong(std::size_t end) const;
  /// Returns whether one of the launches from `begin` to `end`, which have ended, found something
  /// wrong, even if it has been forgotten: each run but the last may have one.
  bool any_wrong(std::size_t begin, std::size_t end) const;
  /// The first launch of this run.
  std::size_t run() const { return run_.load(std::memory_order_acquire); }
  const device::DataError& at(std::size_t launch) const { return records_[place(launch)]; }
  /// Notes that the launches before number `end` have ended; they are known unless one found
  /// something wrong.
  void note_ended(std::size_t end);
  /// Forgets all launches, which have ended.
  void forget();

 private:
  static constexpr std::size_t kMost = 1024;

  /// Returns the first wrong launch from `begin` on, or `end`; the mutex is held.
  std::size_t first_wrong_of(std::size_t begin, std::size_t end) const;
  std::size_t place(std::size_t launch) const { return (launch - run()) % kMost; }

  mutable std::mutex mutex_;  // of reading records, on any thread, and of giving them to others
  const std::shared_ptr<void> memory_;
  device::DataError* const records_;
  std::atomic<std::size_t> taken_{0}, known_{0};
  std::atomic<std::size_t> run_{0};      // the first launch of this run
  std::size_t wrong_ = ~std::size_t{0};  // the last that was wrong when forgotten; with the mutex
};

}  // namespace towerflow::cuda
