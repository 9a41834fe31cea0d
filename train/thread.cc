#include "train/thread.h"

#include <fmt/format.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "core/device/start_thread.h"
#include "core/graph/error.h"
#include "core/graph/log.h"
#include "train/waiting_time.h"

namespace towerflow::train {

struct Thread::State {
  std::string name;
  std::string error_prefix;  // error prefix, made early: there may be no memory at the end
  std::function<void()> body;
  std::function<void()> interrupt;
  std::mutex mutex;
  std::condition_variable ended_changed;
  bool started = false;
  bool ended = false;
  std::thread thread;

  ~State() {
    if (!thread.joinable()) return;
    if (interrupt) interrupt();
    thread.join();
  }

  void run() {
    try {
      body();
    } catch (...) {
      log_exception(error_prefix);
    }
    std::lock_guard lock(mutex);
    ended = true;
    ended_changed.notify_all();
  }
};

Thread::Thread(std::string name, std::function<void()> body, std::function<void()> interrupt)
    : state_(std::make_shared<State>()) {
  state_->error_prefix = fmt::format("thread {} ended with", name);
  state_->name = std::move(name);
  state_->body = std::move(body);
  state_->interrupt = std::move(interrupt);
}

const std::string& Thread::name() const { return state_->name; }

void Thread::start() {
  std::lock_guard lock(state_->mutex);
  if (state_->started) throw RuntimeError("threads can only be started once");
  state_->thread = start_thread([state = state_.get()] { state->run(); });
  state_->started = true;
}

bool Thread::is_alive() const {
  std::lock_guard lock(state_->mutex);
  return state_->started && !state_->ended;
}

void Thread::interrupt() {
  if (state_->interrupt) state_->interrupt();
}

void Thread::join() {
  std::unique_lock lock(state_->mutex);
  if (state_->started) state_->ended_changed.wait(lock, [this] { return state_->ended; });
}

bool Thread::join_for(double seconds) {
  std::unique_lock lock(state_->mutex);
  if (!state_->started) return true;
  return state_->ended_changed.wait_for(lock, wait_duration(seconds),
                                        [this] { return state_->ended; });
}

}  // namespace towerflow::train
