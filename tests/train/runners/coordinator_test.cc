#include "train/coordinator.h"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <limits>
#include <thread>

using namespace towerflow;
using namespace towerflow::train;
using namespace std::chrono_literals;

namespace {

template <class E>
std::exception_ptr make_exception(const char* message) {
  return std::make_exception_ptr(E(message));
}

/// Starts a thread that waits for the stop and then counts itself in `ended`.
Thread worker(Coordinator& coord, std::atomic<int>& ended) {
  Thread thread("worker", [&] {
    coord.wait_for_stop();
    ++ended;
  });
  thread.start();
  return thread;
}

}  // namespace

TEST_CASE("a request stops all threads, and join waits for them") {
  Coordinator coord;
  std::atomic<int> ended{0};
  std::vector<Thread> threads;
  for (int i = 0; i < 3; ++i) threads.push_back(worker(coord, ended));
  CHECK_FALSE(coord.should_stop());
  CHECK_FALSE(coord.wait_for_stop(0.001));
  CHECK_FALSE(coord.joined());
  std::thread other([&] {
    std::this_thread::sleep_for(5ms);
    coord.request_stop();
  });
  coord.join(threads);
  CHECK(ended == 3);
  CHECK(coord.should_stop());
  CHECK(coord.joined());
  for (const Thread& thread : threads) CHECK_FALSE(thread.is_alive());
  other.join();
}

TEST_CASE("join ends without a request when all threads have ended") {
  Coordinator coord;
  Thread thread("short", [] {});
  thread.start();
  coord.register_thread(thread);
  coord.join();
  CHECK_FALSE(coord.should_stop());
}

TEST_CASE("join throws the first error that was reported") {
  Coordinator coord;
  coord.request_stop(make_exception<errors::DataLossError>("first"));
  coord.request_stop(make_exception<errors::NotFoundError>("second"));
  CHECK_THROWS_WITH_AS(coord.raise_requested_exception(), doctest::Contains("first"),
                       errors::DataLossError);
  CHECK_THROWS_AS(coord.join(), errors::DataLossError);
  // After join nobody would see the error, so request_stop throws it to its caller.
  CHECK_THROWS_AS(coord.request_stop(make_exception<errors::NotFoundError>("late")),
                  errors::NotFoundError);
  CHECK_NOTHROW(coord.request_stop(make_exception<errors::OutOfRangeError>("the end")));
  coord.clear_stop();
  CHECK_FALSE(coord.should_stop());
  CHECK_NOTHROW(coord.join());
}

TEST_CASE("an error after a stop was requested is of no interest") {
  Coordinator coord;
  coord.request_stop();
  coord.request_stop(make_exception<errors::CancelledError>("because of the stop"));
  CHECK_NOTHROW(coord.join());
}

TEST_CASE("the end of the input is a clean stop, and so is what the user says") {
  Coordinator coord;
  coord.stop_on_exception([] { throw errors::OutOfRangeError("the end"); });
  CHECK(coord.should_stop());
  CHECK_NOTHROW(coord.join());

  Coordinator lenient(
      {.clean_stop_exception_types = {errors::Code::out_of_range, errors::Code::cancelled}});
  lenient.stop_on_exception([] { throw errors::CancelledError("closed"); });
  CHECK_NOTHROW(lenient.join());

  Coordinator strict;
  strict.stop_on_exception([] { throw std::runtime_error("not the library's"); });
  CHECK_THROWS_AS(strict.join(), std::runtime_error);
}

TEST_CASE("a thread that takes too long is named") {
  std::atomic<bool> go{false};
  Thread slow("slow one", [&] {
    while (!go) std::this_thread::sleep_for(1ms);
  });
  slow.start();
  Coordinator coord;
  coord.request_stop();
  CHECK_THROWS_WITH_AS(
      coord.join({slow}, {.stop_grace_period_secs = 0.01}),
      doctest::Contains("Coordinator stopped with threads still running: slow one"), RuntimeError);
  CHECK_NOTHROW(coord.join({slow}, {.stop_grace_period_secs = 0.01, .ignore_live_threads = true}));
  coord.register_thread(slow);
  CHECK_THROWS_AS(coord.join({.stop_grace_period_secs = 0.01}), RuntimeError);
  go = true;
  coord.join({slow});
}

TEST_CASE("a time that no clock can count to is waited for, not passed over") {
  for (const double seconds : {1e10, 1e300, std::numeric_limits<double>::infinity()}) {
    CAPTURE(seconds);
    Coordinator coord;
    std::atomic<int> ended{0};
    Thread slow("slow one", [&] {
      std::this_thread::sleep_for(20ms);
      coord.request_stop();
      std::this_thread::sleep_for(20ms);
      ++ended;
    });
    slow.start();
    CHECK(coord.wait_for_stop(seconds));
    CHECK_NOTHROW(coord.join({slow}, {.stop_grace_period_secs = seconds}));
    CHECK(ended == 1);
    CHECK(slow.join_for(seconds));
  }
  Coordinator coord;
  for (const double seconds : {0.0, -1e300, std::nan("")})
    CHECK_FALSE(coord.wait_for_stop(seconds));
}

TEST_CASE("destruction of a coordinator and of the last handle ends threads") {
  std::atomic<int> ended{0};
  {
    Coordinator coord;
    coord.register_thread(worker(coord, ended));
  }
  CHECK(ended == 1);
  std::atomic<bool> interrupted{false};
  {
    Thread thread(
        "waits for its interrupt",
        [&] {
          while (!interrupted) std::this_thread::sleep_for(1ms);
          ++ended;
        },
        [&] { interrupted = true; });
    const Thread copy = thread;
    thread.start();
    CHECK_THROWS_AS(thread.start(), RuntimeError);
    CHECK(copy.is_alive());
  }
  CHECK(ended == 2);
  Thread never("never started", [&] { ++ended; });
  never.join();
  CHECK(ended == 2);
}
