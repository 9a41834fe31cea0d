#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

#include "cuda/backend/driver.h"
#include "cuda/device/arguments.h"

namespace towerflow::cuda {

/// Records in pinned memory into which kernels write that their data are wrong: a label that is no
/// class, an index that is no row. Each launch of such a kernel gets its own, which is empty before
/// it. The host reads them when an event after the launch is done.
///
/// Launches are numbered from 0 on; those before number `known` are known to have found nothing
/// wrong, or have been reported. The queue that owns the records takes and forgets them, other
/// threads read.
class ErrorRecords {
 public:
  explicit ErrorRecords(std::shared_ptr<Driver> driver);
  ~ErrorRecords();
  ErrorRecords(const ErrorRecords&) = delete;
  ErrorRecords& operator=(const ErrorRecords&) = delete;

  /// Returns the address for the next launch, for which there must be room.
  device::DataError* take();
  bool has_room() const { return taken() - known() < kMost; }
  std::size_t taken() const { return taken_.load(std::memory_order_acquire); }
  std::size_t known() const { return known_.load(std::memory_order_acquire); }
  /// Returns the number of the first launch before number `end` that found something wrong; `end`
  /// if none did.
  std::size_t first_wrong(std::size_t end) const;
  const device::DataError& at(std::size_t launch) const { return records_[launch % kMost]; }
  /// Notes that the launches before number `end` have ended; they are known unless one found
  /// something wrong.
  void note_ended(std::size_t end);
  /// Forgets all launches, which have ended.
  void forget();

 private:
  static constexpr std::size_t kMost = 1024;

  std::shared_ptr<Driver> driver_;
  device::DataError* records_ = nullptr;
  std::atomic<std::size_t> taken_{0}, known_{0};
};

}  // namespace towerflow::cuda
