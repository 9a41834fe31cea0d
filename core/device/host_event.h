#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>

#include "core/device/event.h"

namespace towerflow {

/// An event of a backend whose queues are threads of this process.
class HostEvent final : public Event {
 public:
  void reset() override;
  bool done() const override { return state() >= State::done; }
  bool failed() const override { return state() == State::failed; }
  void await_recorded(Cancellation& cancellation) override {
    await(State::recorded, use(), &cancellation);
  }
  void await_done(std::uint64_t use, Cancellation* cancellation) override {
    await(State::done, use, cancellation);
  }

  void set_recorded() { set(State::recorded); }
  void set_done(bool failed = false) {
    if (failed) failed_use_.store(use(), std::memory_order_release);
    set(failed ? State::failed : State::done);
  }

 private:
  enum class State { open, recorded, done, failed };
  State state() const { return state_.load(std::memory_order_acquire); }
  void set(State reached);
  void await(State state, std::uint64_t use, Cancellation* cancellation);

  std::atomic<State> state_{State::open};
  std::mutex mutex_;
  std::condition_variable changed_;
};

}  // namespace towerflow
