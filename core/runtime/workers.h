#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace towerflow {

/// Threads that walk the instruction lists of plans with several queues. A run leases as many as it
/// needs, so that a run that waits in one queue never keeps another from running.
class Workers {
 public:
  Workers() = default;
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  /// Runs `work(1)` .. `work(count - 1)` on threads of the pool and `work(0)` on this one; returns
  /// when all have ended. `work` must not throw.
  void run(std::size_t count, const std::function<void(std::size_t)>& work);

 private:
  struct Worker;
  std::shared_ptr<Worker> lease();

  std::mutex mutex_;
  std::vector<std::shared_ptr<Worker>> free_;
  std::vector<std::shared_ptr<Worker>> all_;
};

}  // namespace towerflow
