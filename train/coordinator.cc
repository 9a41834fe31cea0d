#include "train/coordinator.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "train/waiting_time.h"

namespace towerflow::train {
namespace {

using Clock = std::chrono::steady_clock;
constexpr double kPollSeconds = 0.01;  // seconds between checks whether all threads have ended

bool any_alive(const std::vector<Thread>& threads) {
  return std::any_of(threads.begin(), threads.end(),
                     [](const Thread& thread) { return thread.is_alive(); });
}

}  // namespace

struct Coordinator::State {
  explicit State(CoordinatorOptions given) : options(std::move(given)) {}

  bool is_clean(const std::exception_ptr& thrown) const;

  const CoordinatorOptions options;
  std::mutex mutex;
  std::condition_variable stop_changed;
  bool stop = false;
  bool joined = false;
  std::exception_ptr error;
  std::vector<Thread> registered;
};

Coordinator::Coordinator(CoordinatorOptions options)
    : state_(std::make_unique<State>(std::move(options))) {}

Coordinator::~Coordinator() {
  std::vector<Thread> threads;
  {
    std::lock_guard lock(state_->mutex);
    state_->stop = true;
    state_->stop_changed.notify_all();
    threads = std::move(state_->registered);
  }
  for (Thread& thread : threads) thread.interrupt();
  for (Thread& thread : threads) thread.join();
}

bool Coordinator::State::is_clean(const std::exception_ptr& thrown) const {
  try {
    std::rethrow_exception(thrown);
  } catch (const errors::OpError& found) {
    const auto& clean = options.clean_stop_exception_types;
    return std::find(clean.begin(), clean.end(), found.code()) != clean.end();
  } catch (...) {
    return false;
  }
}

void Coordinator::request_stop(std::exception_ptr error) {
  if (error != nullptr && state_->is_clean(error)) error = nullptr;
  std::lock_guard lock(state_->mutex);
  if (state_->joined && error != nullptr) std::rethrow_exception(error);
  if (state_->stop) return;
  state_->error = std::move(error);
  state_->stop = true;
  state_->stop_changed.notify_all();
}

bool Coordinator::should_stop() const {
  std::lock_guard lock(state_->mutex);
  return state_->stop;
}

bool Coordinator::wait_for_stop(std::optional<double> timeout) const {
  std::unique_lock lock(state_->mutex);
  const auto stopped = [this] { return state_->stop; };
  if (timeout) {
    return state_->stop_changed.wait_for(lock, wait_duration(*timeout), stopped);
  }
  state_->stop_changed.wait(lock, stopped);
  return true;
}

void Coordinator::clear_stop() {
  std::lock_guard lock(state_->mutex);
  state_->stop = false;
  state_->joined = false;
  state_->error = nullptr;
}

void Coordinator::register_thread(Thread thread) {
  std::lock_guard lock(state_->mutex);
  state_->registered.push_back(std::move(thread));
}

void Coordinator::join(std::span<const Thread> threads, JoinOptions options) {
  std::vector<Thread> all(threads.begin(), threads.end());
  {
    std::lock_guard lock(state_->mutex);
    for (const Thread& thread : state_->registered) {
      if (std::find(all.begin(), all.end(), thread) == all.end()) all.push_back(thread);
    }
  }
  while (any_alive(all) && !wait_for_stop(kPollSeconds)) {
  }
  const auto deadline = Clock::now() + wait_duration(options.stop_grace_period_secs);
  std::vector<Thread> stragglers;
  for (Thread& thread : all) {
    if (!thread.join_for(deadline - Clock::now())) stragglers.push_back(thread);
  }
  std::lock_guard lock(state_->mutex);
  state_->joined = true;
  state_->registered = stragglers;  // the destructor ends them
  if (state_->error != nullptr) std::rethrow_exception(state_->error);
  if (stragglers.empty() || options.ignore_live_threads) return;
  std::string names;
  for (const Thread& thread : stragglers) names += " " + thread.name();
  throw RuntimeError("Coordinator stopped with threads still running:" + names);
}

bool Coordinator::joined() const {
  std::lock_guard lock(state_->mutex);
  return state_->joined;
}

void Coordinator::raise_requested_exception() const {
  std::lock_guard lock(state_->mutex);
  if (state_->error != nullptr) std::rethrow_exception(state_->error);
}

}  // namespace towerflow::train
