#include "core/device/sim/sim_threads.h"

#include <utility>

#include "core/device/sim/sim_queue.h"
#include "core/device/start_thread.h"

namespace towerflow {

struct SimThreads::Worker {
  std::condition_variable changed;  // used with SimThreads::mutex_
  SimQueue* queue = nullptr;
  bool stop = false;
  std::thread thread;
};

SimThreads::SimThreads() = default;

SimThreads::~SimThreads() {
  {
    std::lock_guard lock(mutex_);
    for (const auto& worker : all_) {
      worker->stop = true;
      worker->changed.notify_one();
    }
  }
  for (const auto& worker : all_) worker->thread.join();
}

void SimThreads::assign_thread(SimQueue& queue) {
  std::lock_guard lock(mutex_);
  if (free_.empty()) {
    auto worker = std::make_unique<Worker>();
    all_.reserve(all_.size() + 1);
    free_.reserve(all_.size() + 1);
    worker->thread = start_thread([this, raw = worker.get()] { loop(*raw); });
    free_.push_back(worker.get());
    all_.push_back(std::move(worker));
  }
  Worker* worker = free_.back();
  free_.pop_back();
  worker->queue = &queue;
  worker->changed.notify_one();
}

void SimThreads::loop(Worker& worker) {
  std::unique_lock lock(mutex_);
  while (true) {
    worker.changed.wait(lock, [&] { return worker.queue != nullptr || worker.stop; });
    if (worker.queue == nullptr) return;
    SimQueue& queue = *worker.queue;
    lock.unlock();
    queue.run_tasks();
    lock.lock();
    worker.queue = nullptr;
    free_.push_back(&worker);
    lock.unlock();
    queue.end_service();
    lock.lock();
  }
}

}  // namespace towerflow
