#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

#include "cuda/backend/driver.h"
#include "cuda/device/arguments.h"

namespace towerflow::cuda {

/// Records in pinned memory into which kernels write that their data are wrong: a label that is no
/// class, an index that is no row. Each launch of such a kernel gets its own, which is empty before
/// it. The host reads them when an event after the launch is done. One thread takes them; the
/// others read.
class ErrorRecords {
 public:
  explicit ErrorRecords(std::shared_ptr<Driver> driver);
  ~ErrorRecords();
  ErrorRecords(const ErrorRecords&) = delete;
  ErrorRecords& operator=(const ErrorRecords&) = delete;

  static constexpr std::size_t kMost = 1024;  ///< launches between two calls of `clear`

  /// Returns the address for the next launch, for which there must be room.
  device::DataError* take();
  std::size_t taken() const { return taken_.load(std::memory_order_acquire); }
  /// Returns the number of the first record that was written among the first `count`; `count` if
  /// there is none.
  std::size_t first_wrong(std::size_t count) const;
  const device::DataError& at(std::size_t record) const { return records_[record]; }
  /// Forgets all records. No kernel that has one may still run.
  void clear();

 private:
  std::shared_ptr<Driver> driver_;
  device::DataError* records_ = nullptr;
  std::atomic<std::size_t> taken_{0};
};

}  // namespace towerflow::cuda
