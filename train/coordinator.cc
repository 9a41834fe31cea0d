#include "train/coordinator.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace towerflow::train {
namespace {

using Clock = std::chrono::steady_clock;
constexpr double kLook = 0.01;  // seconds between looks whether all threads have ended

bool any_alive(const std::vector<Thread>& threads) {
  return std::any_of(threads.begin(), threads.end(),
                     [](const Thread& thread) { return thread.is_alive(); });
}

}  // namespace

Coordinator::Coordinator(CoordinatorOptions options) : options_(std::move(options)) {}

Coordinator::~Coordinator() {
  std::vector<Thread> threads;
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
    stop_changed_.notify_all();
    threads = std::move(registered_);
  }
  for (Thread& thread : threads) thread.interrupt();
  for (Thread& thread : threads) thread.join();
}

bool Coordinator::is_clean(const std::exception_ptr& error) const {
  try {
    std::rethrow_exception(error);
  } catch (const errors::OpError& found) {
    const auto& clean = options_.clean_stop_exception_types;
    return std::find(clean.begin(), clean.end(), found.code()) != clean.end();
  } catch (...) {
    return false;
  }
}

void Coordinator::request_stop(std::exception_ptr error) {
  if (error != nullptr && is_clean(error)) error = nullptr;
  std::lock_guard lock(mutex_);
  if (joined_ && error != nullptr) std::rethrow_exception(error);
  if (stop_) return;
  error_ = std::move(error);
  stop_ = true;
  stop_changed_.notify_all();
}

bool Coordinator::should_stop() const {
  std::lock_guard lock(mutex_);
  return stop_;
}

bool Coordinator::wait_for_stop(std::optional<double> timeout) const {
  std::unique_lock lock(mutex_);
  const auto stopped = [this] { return stop_; };
  if (timeout) {
    return stop_changed_.wait_for(lock, std::chrono::duration<double>(*timeout), stopped);
  }
  stop_changed_.wait(lock, stopped);
  return true;
}

void Coordinator::clear_stop() {
  std::lock_guard lock(mutex_);
  stop_ = false;
  joined_ = false;
  error_ = nullptr;
}

void Coordinator::register_thread(Thread thread) {
  std::lock_guard lock(mutex_);
  registered_.push_back(std::move(thread));
}

void Coordinator::join(const std::vector<Thread>& threads, JoinOptions options) {
  std::vector<Thread> all = threads;
  {
    std::lock_guard lock(mutex_);
    for (const Thread& thread : registered_) {
      if (std::find(all.begin(), all.end(), thread) == all.end()) all.push_back(thread);
    }
  }
  while (any_alive(all) && !wait_for_stop(kLook)) {
  }
  const auto deadline =
      Clock::now() + std::chrono::duration<double>(std::max(0.0, options.stop_grace_period_secs));
  std::vector<Thread> stragglers;
  for (Thread& thread : all) {
    if (!thread.join_for(deadline - Clock::now())) stragglers.push_back(thread);
  }
  std::lock_guard lock(mutex_);
  joined_ = true;
  registered_ = stragglers;  // kept so that they can be ended with the coordinator
  if (error_ != nullptr) std::rethrow_exception(error_);
  if (stragglers.empty() || options.ignore_live_threads) return;
  std::string names;
  for (const Thread& thread : stragglers) names += " " + thread.name();
  throw RuntimeError("Coordinator stopped with threads still running:" + names);
}

bool Coordinator::joined() const {
  std::lock_guard lock(mutex_);
  return joined_;
}

void Coordinator::raise_requested_exception() const {
  std::lock_guard lock(mutex_);
  if (error_ != nullptr) std::rethrow_exception(error_);
}

}  // namespace towerflow::train
