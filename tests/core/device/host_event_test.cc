#include "core/device/host_event.h"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

using namespace towerflow;

TEST_CASE("every wait for an event ends when the run is cancelled") {
  HostEvent event;
  Cancellation cancellation;
  std::array<std::thread, 3> waiters;
  for (std::thread& waiter : waiters)
    waiter = std::thread([&] { event.await_done(event.use(), &cancellation); });
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  cancellation.cancel();
  // A waiter that does not wake up would hang the test.
  for (std::thread& waiter : waiters) waiter.join();
  CHECK_FALSE(event.done());
}

TEST_CASE("a cancelled run leaves nothing behind for the next wait") {
  HostEvent event;
  std::atomic<int> early{0};
  for (int round = 0; round < 4000; ++round) {
    event.reset();
    Cancellation cancellation;
    std::atomic<int> waiting{0};
    std::array<std::thread, 2> waiters;
    for (std::thread& waiter : waiters) {
      waiter = std::thread([&] {
        ++waiting;
        event.await_done(event.use(), &cancellation);
        if (!event.done() && !cancellation.cancelled()) ++early;
      });
    }
    while (waiting < 2) std::this_thread::yield();
    // Late wake-ups of a cancelled round must not end waits of the next round.
    round % 2 == 0 ? cancellation.cancel() : event.set_done();
    for (std::thread& waiter : waiters) waiter.join();
  }
  CHECK(early == 0);
}

namespace {

/// An event that is reused while another thread asks whether it is done.
class ReusedEvent final : public Event {
 public:
  void reset() override { ++use_; }
  bool done() const override {
    const_cast<ReusedEvent*>(this)->reset();
    return false;
  }
  bool failed() const override { return false; }
  void await_recorded(Cancellation&) override {}
  void await_done(std::uint64_t, Cancellation*) override {}
};

}  // namespace

TEST_CASE("a use is over when the event is reused at this moment") {
  const auto event = std::make_shared<ReusedEvent>();
  CHECK(EventUse{event, event->use()}.over());
}
