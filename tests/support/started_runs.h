#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "core/graph/array.h"
#include "ops/data_flow/py_func.h"

namespace towerflow::testing {

/// Counts the runs that have started, so that a test can cancel a run of another thread or close
/// its session and be sure that the run is under way: a session that is already closed refuses a
/// run with another error.
class StartedRuns {
 public:
  /// Adds `mark()` to the default graph.
  StartedRuns()
      : mark_(py_func(
            [count = count_](const std::vector<Array>&) {
              ++*count;
              return Array::scalar<std::int32_t>(0);
            },
            {}, int32)) {
    mark_.set_shape({});
  }

  /// A scalar 0 of dtype int32, which counts the run that computes it. What a run waits for should
  /// depend on it.
  Tensor mark() const { return mark_; }

  /// Waits until `runs` runs have started.
  void wait_for(int runs) const {
    while (*count_ < runs) std::this_thread::yield();
  }

 private:
  std::shared_ptr<std::atomic<int>> count_ = std::make_shared<std::atomic<int>>(0);
  Tensor mark_;
};

}  // namespace towerflow::testing
