#include "core/runtime/workers.h"

#include <utility>

namespace towerflow {

/// One thread and the piece of work it was handed.
struct Workers::Worker {
  std::mutex mutex;
  std::condition_variable changed;
  std::function<void()> work;
  bool stop = false;
  std::thread thread;

  void loop() {
    std::unique_lock lock(mutex);
    while (true) {
      changed.wait(lock, [this] { return work != nullptr || stop; });
      if (work == nullptr) return;
      const auto job = std::exchange(work, nullptr);
      lock.unlock();
      job();
      lock.lock();
    }
  }

  void give(std::function<void()> job) {
    {
      std::lock_guard lock(mutex);
      work = std::move(job);
    }
    changed.notify_one();
  }
};

Workers::~Workers() {
  for (const auto& worker : all_) {
    {
      std::lock_guard lock(worker->mutex);
      worker->stop = true;
    }
    worker->changed.notify_one();
    worker->thread.join();
  }
}

std::shared_ptr<Workers::Worker> Workers::lease() {
  std::lock_guard lock(mutex_);
  if (!free_.empty()) {
    auto worker = std::move(free_.back());
    free_.pop_back();
    return worker;
  }
  auto worker = std::make_shared<Worker>();
  worker->thread = std::thread([raw = worker.get()] { raw->loop(); });
  all_.push_back(worker);
  return worker;
}

void Workers::run(std::size_t count, const std::function<void(std::size_t)>& work) {
  struct Join {
    std::mutex mutex;
    std::condition_variable changed;
    std::size_t left;
  } join{.left = count - 1};
  for (std::size_t i = 1; i < count; ++i) {
    const auto worker = lease();
    worker->give([&, i, worker] {
      work(i);
      {
        std::lock_guard lock(mutex_);
        free_.push_back(worker);
      }
      std::lock_guard lock(join.mutex);
      --join.left;
      join.changed.notify_one();
    });
  }
  work(0);
  std::unique_lock lock(join.mutex);
  join.changed.wait(lock, [&] { return join.left == 0; });
}

}  // namespace towerflow
