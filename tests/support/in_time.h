#pragma once

#include <doctest/doctest.h>

#include <chrono>
#include <future>
#include <thread>
#include <utility>

namespace towerflow::testing {

/// Runs `body` on a new thread and fails if it takes more than 20 seconds. The thread is then
/// abandoned, so that a deadlock fails the test instead of blocking it. `body` must own its data.
template <class Body>
void run_with_timeout(Body body) {
  std::packaged_task<void()> task(std::move(body));
  std::future<void> ended = task.get_future();
  std::thread(std::move(task)).detach();
  REQUIRE(ended.wait_for(std::chrono::seconds(20)) == std::future_status::ready);
  ended.get();
}

}  // namespace towerflow::testing
