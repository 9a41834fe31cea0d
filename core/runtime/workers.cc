#include "core/runtime/workers.h"

#include <fmt/format.h>

#include <atomic>
#include <utility>

#include "core/device/cpu/thread_pool.h"
#include "core/device/start_thread.h"
#include "core/graph/error.h"

namespace towerflow {

/// The number of threads of a run that have not finished.
struct Workers::Join {
  std::mutex mutex;
  std::condition_variable changed;
  std::atomic<std::size_t> left{0};
};

/// A thread and the work assigned to it.
struct Workers::Worker {
  std::mutex mutex;
  std::condition_variable changed;
  Call call;
  std::atomic<bool> assigned{false};  // whether there is a call, or the thread must stop
  std::size_t index = 0;
  Join* join = nullptr;
  bool stop = false;
  Workers* pool = nullptr;
  Worker* next = nullptr;  // next of the workers leased together
  std::thread thread;

  void loop() {
    std::unique_lock lock(mutex);
    while (true) {
      changed.wait(lock, [this] { return assigned.load(std::memory_order_relaxed); });
      if (stop) return;
      const Call work = std::exchange(call, {});
      assigned.store(false, std::memory_order_relaxed);
      Join& ending = *join;
      const std::size_t part = index;
      lock.unlock();
      work.function(work.context, part);
      pool->release(*this);
      {
        std::lock_guard ended(ending.mutex);
        --ending.left;
        ending.changed.notify_one();
      }
      if (work.pool != nullptr) work.pool->help_until([this] { return assigned.load(); });
      lock.lock();
    }
  }

  void assign_work(Call work, std::size_t part, Join& ending) {
    {
      std::lock_guard lock(mutex);
      call = work;
      index = part;
      join = &ending;
      assigned.store(true);
    }
    changed.notify_one();
  }

  void end() {
    {
      std::lock_guard lock(mutex);
      stop = true;
      assigned.store(true);
    }
    changed.notify_one();
    thread.join();
  }
};

Workers::Workers() = default;

Workers::~Workers() {
  for (const auto& worker : all_) worker->end();
}

Workers::Worker* Workers::lease(std::size_t count) {
  std::lock_guard lock(mutex_);
  // Start all threads before work is assigned to the first, since assigned work cannot be
  // withdrawn.
  while (free_.size() < count) {
    auto worker = std::make_unique<Worker>();
    free_.reserve(all_.size() + 1);
    all_.reserve(all_.size() + 1);
    worker->pool = this;
    try {
      worker->thread = start_thread([raw = worker.get()] { raw->loop(); });
    } catch (const errors::ResourceExhaustedError& error) {
      throw errors::ResourceExhaustedError(
          fmt::format("a run walks {} queues of devices at once: {}", count + 1, error.message()),
          error.detail());
    }
    free_.push_back(worker.get());
    all_.push_back(std::move(worker));
  }
  Worker* leased = nullptr;
  for (std::size_t i = 0; i < count; ++i) {
    free_.back()->next = leased;
    leased = free_.back();
    free_.pop_back();
  }
  return leased;
}

void Workers::release(Worker& worker) {
  std::lock_guard lock(mutex_);
  free_.push_back(&worker);
}

void Workers::run_all(std::size_t count, Call call) {
  Join join;
  join.left = count - 1;
  Worker* worker = lease(count - 1);
  for (std::size_t i = 1; i < count; ++i) {
    Worker* next = worker->next;  // read first: a finished worker may be leased by another run
    worker->assign_work(call, i, join);
    worker = next;
  }
  call.function(call.context, 0);
  if (call.pool != nullptr) call.pool->help_until([&] { return join.left == 0; });
  std::unique_lock lock(join.mutex);
  join.changed.wait(lock, [&] { return join.left == 0; });
}

}  // namespace towerflow
