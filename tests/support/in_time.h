#pragma once

#include <doctest/doctest.h>

#include <chrono>
#include <future>
#include <thread>
#include <utility>

namespace towerflow::testing {

/// Runs `body` on a thread of its own, which is left alone when it does not end: a deadlock fails
/// the test and does not stop it. `body` holds what it uses.
template <class Body>
void in_time(Body body) {
  std::packaged_task<void()> task(std::move(body));
  std::future<void> ended = task.get_future();
  std::thread(std::move(task)).detach();
  REQUIRE(ended.wait_for(std::chrono::seconds(20)) == std::future_status::ready);
  ended.get();
}

}  // namespace towerflow::testing
