#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "cuda/backend/driver.h"

namespace towerflow::cuda {

/// Pinned memory of a queue for what the host decides anew in each run, such as where a random op
/// continues its stream. A run that asks for the same bytes in the same order as the one before
/// gets the same addresses.
class RunParameters {
 public:
  explicit RunParameters(std::shared_ptr<Driver> driver) : driver_(std::move(driver)) {}
  RunParameters(const RunParameters&) = delete;
  RunParameters& operator=(const RunParameters&) = delete;

  /// The work of the last run has ended.
  void begin_run() { block_ = used_ = 0; }
  /// Returns memory that is aligned to 64 bytes.
  std::byte* take(std::size_t bytes);

 private:
  static constexpr std::size_t kBlock = 4096;

  std::shared_ptr<Driver> driver_;
  std::vector<std::shared_ptr<void>> blocks_;
  std::size_t block_ = 0, used_ = 0;  // where the next bytes are
};

}  // namespace towerflow::cuda
