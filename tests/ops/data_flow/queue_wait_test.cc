// Waiting operations of queues, and what ends the wait.
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <numeric>
#include <thread>

#include "core/device/cancellation.h"
#include "core/graph/scopes.h"
#include "core/runtime/session.h"
#include "ops/data_flow/queue.h"
#include "ops/data_flow/queue_resource.h"

using namespace towerflow;
using namespace std::chrono_literals;

namespace {

/// Returns whether the work of the future is still waiting after a short time.
template <class T>
bool is_waiting(std::future<T>& future) {
  return future.wait_for(200ms) == std::future_status::timeout;
}

template <class T>
T result(std::future<T>& future) {
  REQUIRE(future.wait_for(20s) == std::future_status::ready);
  return future.get();
}

std::future<Array> started(Session& session, Fetch fetch) {
  return std::async(std::launch::async, [&session, fetch] { return session.run(fetch); });
}

struct Numbers {
  Graph graph;
  DefaultGraphGuard guard{graph};
  FIFOQueue queue;
  Operation enqueue;
  Tensor one, size;
  Operation close, cancel;
  explicit Numbers(int capacity) : queue(capacity, {int32}, {.shapes = {{}}}) {
    enqueue = queue.enqueue({7});
    one = queue.dequeue();
    size = queue.size();
    close = queue.close();
    cancel = queue.close({.cancel_pending_enqueues = true});
  }
};

}  // namespace

TEST_CASE("a dequeue waits for an element, an enqueue for room") {
  Numbers n(1);
  Session session(n.graph);
  auto taken = started(session, n.one);
  CHECK(is_waiting(taken));
  session.run(n.enqueue);
  CHECK(result(taken).item<std::int32_t>() == 7);
  session.run(n.enqueue);
  auto put = started(session, n.enqueue);
  CHECK(is_waiting(put));
  session.run(n.one);
  result(put);
  CHECK(session.run(n.size).item<std::int32_t>() == 1);
}

TEST_CASE("closing lets waiting enqueues finish, unless it cancels them") {
  for (const bool cancels : {false, true}) {
    CAPTURE(cancels);
    Numbers n(1);
    Session session(n.graph);
    session.run(n.enqueue);
    auto put = started(session, n.enqueue);
    CHECK(is_waiting(put));
    auto closed = started(session, cancels ? n.cancel : n.close);
    if (cancels) {
      result(closed);
      CHECK_THROWS_WITH_AS(result(put), doctest::Contains("Enqueue operation was cancelled"),
                           errors::CancelledError);
    } else {
      CHECK(is_waiting(closed));  // it must wait for the enqueue before it
      session.run(n.one);
      result(put);
      result(closed);
    }
    CHECK_THROWS_AS(session.run(n.enqueue), errors::CancelledError);
    session.run(n.one);
    CHECK_THROWS_AS(session.run(n.one), errors::OutOfRangeError);
  }
}

TEST_CASE("closing ends waiting dequeues and keeps the elements they wanted") {
  Numbers n(8);
  const Components three = n.queue.dequeue_many(3);
  Session session(n.graph);
  session.run(n.enqueue);
  session.run(n.enqueue);
  auto taken = started(session, three[0]);
  CHECK(is_waiting(taken));
  session.run(n.close);
  CHECK_THROWS_WITH_AS(result(taken), doctest::Contains("(requested 3, current size 2)"),
                       errors::OutOfRangeError);
  CHECK(session.run(n.size).item<std::int32_t>() == 2);
}

TEST_CASE("more than the queue holds comes out in parts, which go back when it ends early") {
  for (const int fed : {12, 10}) {
    CAPTURE(fed);
    Numbers n(4);
    std::vector<std::int32_t> numbers(static_cast<std::size_t>(fed));
    std::iota(numbers.begin(), numbers.end(), 0);
    const Operation fill = n.queue.enqueue_many({Operand(numbers)});
    const Components many = n.queue.dequeue_many(12), fewer = n.queue.dequeue_up_to(20);
    Session session(n.graph);
    auto put = started(session, fill);
    auto taken = started(session, many[0]);
    result(put);
    if (fed == 12) {
      const Array all = result(taken);
      for (int i = 0; i < 12; ++i) CHECK(all.data<std::int32_t>()[i] == i);
      continue;
    }
    CHECK(is_waiting(taken));
    session.run(n.close);
    CHECK_THROWS_WITH_AS(result(taken), doctest::Contains("(requested 12, current size 10)"),
                         errors::OutOfRangeError);
    const Array rest = session.run(fewer[0]);
    REQUIRE(rest.shape() == Shape{10});
    for (int i = 0; i < 10; ++i) CHECK(rest.data<std::int32_t>()[i] == i);
  }
}

TEST_CASE("a session that closes ends every wait") {
  Numbers n(1);
  Numbers empty(1);
  auto session = std::make_unique<Session>(n.graph);
  Session other(empty.graph);
  session->run(n.enqueue);
  auto put = started(*session, n.enqueue);
  CHECK(is_waiting(put));  // must wait before the close starts, or it would be refused
  auto behind = started(*session, n.close);
  auto taken = started(other, empty.one);
  CHECK(is_waiting(behind));
  CHECK(is_waiting(taken));
  session->close();
  other.close();
  CHECK_THROWS_AS(result(put), errors::CancelledError);
  behind.wait();  // has succeeded after the enqueue was gone, or was cancelled too
  CHECK_THROWS_WITH_AS(result(taken), doctest::Contains("Dequeue operation was cancelled"),
                       errors::CancelledError);
  CHECK_THROWS_AS(session->run(n.one), RuntimeError);
}

TEST_CASE("a callable ends by its own cancellation, and others wait on") {
  Numbers n(4);
  Session session(n.graph);
  Cancellation cancellation;
  auto callable = session.make_callable({n.one}, {}, &cancellation);
  auto taken = std::async(std::launch::async, [&] { return callable({}); });
  auto other = started(session, n.one);
  CHECK(is_waiting(taken));
  CHECK(is_waiting(other));
  cancellation.cancel();
  CHECK_THROWS_AS(result(taken), errors::CancelledError);
  CHECK(is_waiting(other));
  session.run(n.enqueue);
  CHECK(result(other).item<std::int32_t>() == 7);
}

TEST_CASE("cancelled in the middle, a dequeue puts back what it took") {
  Numbers n(2);
  const Components five = n.queue.dequeue_many(5);
  const Operation fill = n.queue.enqueue_many({{0, 1, 2}});
  Session session(n.graph);
  Cancellation cancellation;
  auto callable = session.make_callable({five[0]}, {}, &cancellation);
  auto taken = std::async(std::launch::async, [&] { return callable({}); });
  session.run(fill);  // fits only because the dequeue has already taken elements
  CHECK(is_waiting(taken));
  cancellation.cancel();
  CHECK_THROWS_AS(result(taken), errors::CancelledError);
  for (int i = 0; i < 3; ++i) CHECK(session.run(n.one).item<std::int32_t>() == i);
}

TEST_CASE("a run on several devices fails as one: the queue that waits is released") {
  Graph graph;
  const auto as_default = graph.as_default();
  FIFOQueue empty, closed;
  Tensor waiting, failing;
  {
    const auto first = device("/cpu:0");
    empty = FIFOQueue(1, {int32}, {.shapes = {{}}});
    waiting = empty.dequeue();
  }
  {
    const auto second = device("/cpu:1");
    closed = FIFOQueue(1, {int32}, {.shapes = {{}}});
    failing = closed.dequeue();
  }
  const Operation close = closed.close();
  Session session(graph, {.device_count = {{"CPU", 2}}});
  session.run(close);
  CHECK_THROWS_AS(session.run({waiting, failing}), errors::OutOfRangeError);
}

TEST_CASE("many threads: every element comes out exactly once") {
  Graph graph;
  const auto as_default = graph.as_default();
  const RandomShuffleQueue queue(40, 10, {int32}, {.shapes = {{}}});
  constexpr int kThreads = 4, kEach = 300;
  std::vector<Operation> fills;
  for (int t = 0; t < kThreads; ++t) {
    std::vector<std::int32_t> numbers(kEach);
    std::iota(numbers.begin(), numbers.end(), t * kEach);
    fills.push_back(queue.enqueue_many({Operand(numbers)}));
  }
  const Components take = queue.dequeue_up_to(7);
  const Operation close = queue.close();
  Session session(graph);
  std::vector<std::atomic<int>> seen(kThreads * kEach);
  std::vector<std::thread> takers, putters;
  for (int t = 0; t < kThreads; ++t) {
    takers.emplace_back([&] {
      try {
        while (true) {
          const Array batch = session.run(take[0]);
          for (const std::int32_t value : batch.flat<std::int32_t>()) {
            ++seen[static_cast<std::size_t>(value)];
          }
        }
      } catch (const errors::OutOfRangeError&) {
      }
    });
    putters.emplace_back([&, t] { session.run(fills[static_cast<std::size_t>(t)]); });
  }
  for (std::thread& thread : putters) thread.join();
  session.run(close);
  for (std::thread& thread : takers) thread.join();
  int wrong = 0;
  for (const auto& count : seen) wrong += count == 1 ? 0 : 1;
  CHECK(wrong == 0);
}
