#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/device/convolution_plans.h"
#include "data/lock_file.h"

namespace towerflow::cuda {

/// The plans of convolutions that a session uses: those of a file, and those that it has measured.
/// Several sessions and processes can add to one file. Thread-safe.
class PlanTable {
 public:
  /// Reads the file, which may be missing if the session measures; "": no file. Throws what
  /// read_convolution_plans does.
  PlanTable(std::string path, bool measures);

  /// Whether plans that are missing are to be measured.
  bool measures() const { return measures_; }
  const std::string& path() const { return path_; }
  /// Returns nothing if there is no plan.
  ///
  /// errors   FailedPreconditionError: the session does not measure, and the table has no plan for
  ///          this device at all
  std::optional<ConvolutionPlan> find(const std::string& device,
                                      const std::string& convolution) const;
  /// Adds a plan in place of another one, and writes the file.
  void add(ConvolutionPlan plan);
  /// Hold this while plans are measured: they would disturb each other, and devices of one kind
  /// share what was found.
  std::mutex& measuring() { return measuring_; }

 private:
  /// By device and convolution.
  using Plans = std::map<std::pair<std::string, std::string>, ConvolutionPlan>;
  /// Keeps other sessions and processes from changing the file.
  LockFile locked() const;
  void read();
  void write() const;

  const std::string path_;
  const bool measures_;
  mutable std::mutex mutex_;  // guards the plans
  Plans plans_;
  std::mutex measuring_;
};

}  // namespace towerflow::cuda
