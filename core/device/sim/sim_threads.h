#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace towerflow {

class SimQueue;

/// The threads that do the work of simulated accelerators. A queue is assigned one while it has
/// work; free threads are reused.
class SimThreads {
 public:
  SimThreads();
  ~SimThreads();
  SimThreads(const SimThreads&) = delete;
  SimThreads& operator=(const SimThreads&) = delete;

  /// Assigns a thread to `queue`: it calls `queue.run_tasks()`, then `queue.end_service()` when it
  /// is free again. Throws ResourceExhaustedError if no more threads can be started.
  void assign_thread(SimQueue& queue);

 private:
  struct Worker;
  void loop(Worker& worker);

  std::mutex mutex_;
  std::vector<Worker*> free_;  // with capacity for all
  std::vector<std::unique_ptr<Worker>> all_;
};

}  // namespace towerflow
