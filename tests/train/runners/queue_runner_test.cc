#include "train/queue_runner.h"

#include <doctest/doctest.h>

#include <chrono>
#include <set>
#include <thread>

#include "core/graph/log.h"
#include "core/graph/scopes.h"
#include "ops/data_flow/assert.h"

using namespace towerflow;
using namespace towerflow::train;
using namespace std::chrono_literals;

namespace {

/// A runner with several threads that move numbers 0 .. n-1 from a queue to another one.
struct Pipeline {
  Graph graph;
  DefaultGraphGuard guard{graph};
  FIFOQueue source, target;
  Operation fill, close_source;
  Tensor next;
  QueueRunner runner;

  Pipeline(int numbers, int threads, std::int64_t capacity) {
    const auto scope = name_scope("in");
    source = FIFOQueue(-1, {int32}, {.shapes = {{}}, .name = "source"});
    target = FIFOQueue(capacity, {int32}, {.shapes = {{}}, .name = "target"});
    std::vector<std::int32_t> values;
    for (int i = 0; i < numbers; ++i) values.push_back(i);
    fill = source.enqueue_many({Operand(values)});
    close_source = source.close();
    const Operation move = target.enqueue({Operand(Tensor(source.dequeue()))});
    runner = QueueRunner(target, std::vector<Operation>(static_cast<std::size_t>(threads), move));
    add_queue_runner(runner);
    next = target.dequeue();
  }
};

std::multiset<std::int32_t> drain(Session& session, const Tensor& next) {
  std::multiset<std::int32_t> seen;
  try {
    while (true) seen.insert(session.run(next).item<std::int32_t>());
  } catch (const errors::OutOfRangeError&) {
  }
  return seen;
}

}  // namespace

TEST_CASE("a runner adds the operations that close its queue, and is found in its collection") {
  Pipeline p(3, 2, 4);
  CHECK(p.runner.name() == "in/target");
  CHECK(p.runner.close_op().name() == "in/target_Close");
  CHECK(p.runner.cancel_op().name() == "in/target_Close_1");
  CHECK(p.runner.enqueue_ops().size() == 2);
  const auto found = get_collection<QueueRunner>(GraphKeys::QUEUE_RUNNERS, "in");
  REQUIRE(found.size() == 1);
  CHECK(found[0].name() == "in/target");
  CHECK(get_collection<QueueRunner>(GraphKeys::QUEUE_RUNNERS, "out").empty());
  CHECK_THROWS_AS(QueueRunner(p.target, {}), ValueError);
  CHECK_THROWS_AS(QueueRunner(QueueBase(), {p.fill}), ValueError);
}

TEST_CASE("threads move everything, and the last one closes the queue") {
  for (const int threads : {1, 2, 8}) {
    Pipeline p(500, threads, 16);
    Session session(p.graph);
    session.run(p.fill);
    session.run(p.close_source);
    Coordinator coord;
    const auto started = start_queue_runners(session, {.coord = &coord});
    CHECK(started.size() == static_cast<std::size_t>(threads) + 1);
    CHECK(started[0].name() == "QueueRunnerThread-in/target-in/target_enqueue");
    CHECK(started.back().name() == "QueueRunnerThread-in/target-close_on_stop");
    const auto seen = drain(session, p.next);
    CHECK(seen.size() == 500);
    CHECK(std::set<std::int32_t>(seen.begin(), seen.end()).size() == 500);
    CHECK_FALSE(coord.should_stop());
    coord.request_stop();
    CHECK_NOTHROW(coord.join(started));
  }
}

TEST_CASE("a stop ends threads that wait for room and threads that wait for input") {
  for (const int numbers : {0, 100}) {
    Pipeline p(numbers, 3, 2);
    Session session(p.graph);
    session.run(p.fill);
    Coordinator coord;
    const auto threads = start_queue_runners(session, {.coord = &coord});
    // Threads that already run are not started again.
    CHECK(start_queue_runners(session, {.coord = &coord}).empty());
    if (numbers > 0) session.run(p.next);
    std::this_thread::sleep_for(20ms);
    coord.request_stop();
    if (numbers == 0) session.run(p.close_source);  // nothing else ends the wait for input
    CHECK_NOTHROW(coord.join(threads));
    CHECK_THROWS_AS(session.run(p.target.enqueue({1})), errors::CancelledError);
  }
}

TEST_CASE("a session that closes ends all threads; join says that they were cancelled") {
  Pipeline p(0, 2, 2);
  Coordinator coord;
  std::vector<Thread> threads;
  {
    Session session(p.graph);
    threads = start_queue_runners(session, {.coord = &coord});
    std::this_thread::sleep_for(20ms);
  }
  CHECK_THROWS_AS(coord.join(threads), errors::CancelledError);
}

TEST_CASE("without a coordinator, threads end with their handles") {
  Pipeline p(0, 2, 2);
  Session session(p.graph);
  {
    const auto threads = start_queue_runners(session);
    CHECK(threads.size() == 2);
    std::this_thread::sleep_for(10ms);
    CHECK(threads[0].is_alive());
  }
  CHECK(p.runner.exceptions_raised().empty());
  // New threads can be started after them.
  session.run(p.fill);
  session.run(p.close_source);
  const auto again = start_queue_runners(session);
  CHECK(again.size() == 2);
  CHECK(drain(session, p.next).empty());
}

TEST_CASE("threads that are never started leave their place with their handles") {
  Pipeline p(6, 2, 2);
  for (const bool coordinated : {false, true}) {
    CAPTURE(coordinated);
    // A session often gets the address of its predecessor.
    for (int i = 0; i < 20; ++i) {
      Session session(p.graph);
      Coordinator coord;
      const auto threads =
          start_queue_runners(session, {.coord = coordinated ? &coord : nullptr, .start = false});
      CHECK(threads.size() == (coordinated ? 3 : 2));
      CHECK(start_queue_runners(session).empty());  // these may still be started
    }
  }
  Session session(p.graph);
  { const auto dropped = start_queue_runners(session, {.start = false}); }
  session.run(p.fill);
  session.run(p.close_source);
  const auto threads = start_queue_runners(session);
  CHECK(threads.size() == 2);
  CHECK(drain(session, p.next).size() == 6);
}

TEST_CASE("an error goes to the coordinator, and dequeues name it") {
  for (const bool coordinated : {true, false}) {
    CAPTURE(coordinated);
    Graph graph;
    const auto as_default = graph.as_default();
    const FIFOQueue flags(4, {bool_}, {.shapes = {{}}});
    const Operation fill = flags.enqueue_many({{true, true, false, true}});
    const FIFOQueue queue(4, {int32}, {.shapes = {{}}, .name = "checked"});
    const Operation check = Assert(flags.dequeue(), {"the third record is bad"});
    Operation enqueue;
    {
      const auto after = control_dependencies({Fetch(check)});
      enqueue = queue.enqueue({1});
    }
    QueueRunner runner(queue, {enqueue});
    add_queue_runner(runner);
    const Components two = queue.dequeue_many(2);
    Session session;
    session.run(fill);
    Coordinator coord;
    const auto threads = start_queue_runners(session, {.coord = coordinated ? &coord : nullptr});
    session.run(two[0]);  // elements from before the error are still there
    if (coordinated) {
      try {
        session.run(two[0]);
        FAIL("the queue should have ended");
      } catch (const errors::OutOfRangeError& error) {
        CHECK(error.detail().hint.find("the third record is bad") != std::string::npos);
      }
      CHECK(coord.should_stop());
      CHECK_THROWS_WITH_AS(coord.join(threads), doctest::Contains("the third record is bad"),
                           errors::InvalidArgumentError);
      CHECK(runner.exceptions_raised().empty());
    } else {
      CHECK_THROWS_WITH_AS(session.run(two[0]), doctest::Contains("the third record is bad"),
                           errors::InvalidArgumentError);
      CHECK(runner.exceptions_raised().size() == 1);
    }
  }
}

TEST_CASE("no runner, no thread, but a warning") {
  Graph graph;
  const auto as_default = graph.as_default();
  std::string said;
  const LogSink before =
      set_log_sink([&](LogLevel, std::string_view text) { said = std::string(text); });
  Session session;
  CHECK(start_queue_runners(session).empty());
  set_log_sink(before);
  CHECK(said.find("no queue runners were defined") != std::string::npos);
}
