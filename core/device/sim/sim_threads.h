#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace towerflow {

class SimQueue;

/// The threads that do the work of simulated accelerators. A queue has one of them while it has
/// work; those that are free are used again.
class SimThreads {
 public:
  SimThreads();
  ~SimThreads();
  SimThreads(const SimThreads&) = delete;
  SimThreads& operator=(const SimThreads&) = delete;

  /// Lets a thread call `queue.run_tasks()`, and `queue.end_service()` when it is free for others.
  /// Throws ResourceExhaustedError where there can be no more threads.
  void assign_thread(SimQueue& queue);

 private:
  struct Worker;
  void loop(Worker& worker);

  std::mutex mutex_;
  std::vector<Worker*> free_;  // with room for all
  std::vector<std::unique_ptr<Worker>> all_;
};

}  // namespace towerflow
