#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace towerflow {

class ThreadPool;

/// Threads that execute plans with several queues. A run leases as many threads as it needs, so
/// that a run that waits in one queue never blocks another run.
class Workers {
 public:
  Workers();
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  /// Runs `work(1)` .. `work(count - 1)` on threads of the pool and `work(0)` on the calling
  /// thread; returns when all have ended. `work` must not throw. Allocates nothing once the threads
  /// exist. Threads that have nothing to do help in `pool`, if it is given, for a while before they
  /// sleep; it must outlive this object.
  template <class Work>
  void run(std::size_t count, const Work& work, ThreadPool* pool = nullptr) {
    run_all(count, {[](const void* context, std::size_t index) {
                      (*static_cast<const Work*>(context))(index);
                    },
                    &work, pool});
  }

 private:
  struct Call {
    void (*function)(const void* context, std::size_t index) = nullptr;
    const void* context = nullptr;
    ThreadPool* pool = nullptr;
  };
  struct Join;
  struct Worker;
  void run_all(std::size_t count, Call call);
  Worker* lease(std::size_t count);  // returns a linked list of `count` workers
  void release(Worker& worker);

  std::mutex mutex_;
  std::vector<Worker*> free_;
  std::vector<std::unique_ptr<Worker>> all_;
};

}  // namespace towerflow
