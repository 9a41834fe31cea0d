// Stops and ends of input close a queue even if the graph can no longer be planned, and a warning
// reports a wait for runners that were never started.
#include <doctest/doctest.h>

#include <future>
#include <mutex>
#include <thread>
#include <vector>

#include "core/graph/log.h"
#include "core/graph/scopes.h"
#include "ops/array/constant.h"
#include "ops/data_flow/assert.h"
#include "train/queue_runner.h"

using namespace towerflow;
using namespace towerflow::train;
using namespace std::chrono_literals;

namespace {

/// Collects the log lines written during its lifetime.
class LogLines {
 public:
  LogLines()
      : before_(set_log_sink([this](LogLevel, std::string_view text) {
          const std::lock_guard lock(mutex_);
          lines_.emplace_back(text);
        })) {}
  ~LogLines() { set_log_sink(before_); }
  LogLines(const LogLines&) = delete;
  LogLines& operator=(const LogLines&) = delete;

  std::vector<std::string> lines_with(const std::string& part) const {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> found;
    for (const std::string& line : lines_) {
      if (line.find(part) != std::string::npos) found.push_back(line);
    }
    return found;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
  LogSink before_;
};

/// A graph where `move` takes an element from `source` to `target` and `next` dequeues it there.
struct MovingPipeline {
  Graph graph;
  DefaultGraphGuard guard{graph};
  FIFOQueue source{8, {int32}, {.shapes = {{}}, .name = "source"}};
  FIFOQueue target{8, {int32}, {.shapes = {{}}, .name = "target"}};
  Operation fill = source.enqueue({7}), close_source = source.close();
  Operation move = target.enqueue({Operand(Tensor(source.dequeue()))});
  Tensor next = target.dequeue();

  /// Adds a node on a device that does not exist, so that later planning of the graph fails.
  static void break_planning() {
    const auto missing = device("/gpu:7");
    constant(1);
  }
};

/// Checks that a waiting dequeue fails with `Error`. Returns whether it ended without help; if
/// not, closes the session to end it.
template <class Error>
bool ends_with(Session& session, std::future<Array>& taken) {
  const bool ended = taken.wait_for(20s) == std::future_status::ready;
  if (!ended) session.close();
  CHECK_THROWS_AS(taken.get(), Error);
  return ended;
}

std::future<Array> start_dequeue(Session& session, const Tensor& next) {
  auto taken = std::async(std::launch::async, [&] { return session.run(next); });
  CHECK(taken.wait_for(30ms) == std::future_status::timeout);
  return taken;
}

}  // namespace

TEST_CASE("a stop ends the queue of a graph that can no longer be planned") {
  MovingPipeline m;
  add_queue_runner(QueueRunner(m.target, {m.move}));
  Session session(m.graph);
  Coordinator coord;
  const auto threads = start_queue_runners(session, {.coord = &coord});
  auto taken = start_dequeue(session, m.next);
  MovingPipeline::break_planning();
  CHECK_THROWS_AS(session.run(m.fill), errors::InvalidArgumentError);
  coord.request_stop();
  CHECK(ends_with<errors::OutOfRangeError>(session, taken));
  session.close();  // the runner's thread still waits for input
  coord.join(threads);
}

TEST_CASE("the end of the input ends it, too") {
  MovingPipeline m;
  QueueRunner runner(m.target, {m.move});
  Session session(m.graph);
  const auto end_of_input = session.make_callable({m.close_source});
  end_of_input.prepare();
  const auto threads = runner.create_threads(session, {.start = true});
  auto taken = start_dequeue(session, m.next);
  MovingPipeline::break_planning();
  end_of_input();
  CHECK(ends_with<errors::OutOfRangeError>(session, taken));
  CHECK(runner.exceptions_raised().empty());
}

TEST_CASE("an operation that should end the queue and fails is told, and the queue ends") {
  for (const bool coordinated : {true, false}) {
    CAPTURE(coordinated);
    MovingPipeline m;
    const Operation fails = Assert(constant(false), {"the cancel operation fails"});
    QueueRunner runner(m.target, {m.move}, {.close_op = fails, .cancel_op = fails});
    Session session(m.graph);
    const LogLines log;
    Coordinator coord;
    const auto threads =
        runner.create_threads(session, {.coord = coordinated ? &coord : nullptr, .start = true});
    auto taken = start_dequeue(session, m.next);
    session.run(m.close_source);
    CHECK(ends_with<std::exception>(session, taken));
    if (coordinated) {
      CHECK_THROWS_WITH_AS(coord.join(threads), doctest::Contains("the cancel operation fails"),
                           errors::InvalidArgumentError);
      CHECK(log.lines_with("-close_on_stop ended with: InvalidArgumentError").size() == 1);
    } else {
      Thread(threads[0]).join();
      CHECK(runner.exceptions_raised().size() == 2);  // of close_op, then of cancel_op
    }
  }
}

TEST_CASE("a runner whose end cannot be planned does not start") {
  MovingPipeline m;
  QueueRunner runner(m.target, {m.move});
  Session session(m.graph);
  MovingPipeline::break_planning();
  Coordinator coord;
  CHECK_THROWS_AS(runner.create_threads(session, {.coord = &coord, .start = true}),
                  errors::InvalidArgumentError);
  CHECK_NOTHROW(coord.join());
}

TEST_CASE("a wait for runners that were never started is one warning that names the call") {
  MovingPipeline m;
  add_queue_runner(QueueRunner(m.source, {m.fill}));
  add_queue_runner(QueueRunner(m.target, {m.move}));
  Session session(m.graph);
  const LogLines log;
  const auto warnings = [&] { return log.lines_with("no queue runner").size(); };
  auto taken = start_dequeue(session, m.next);
  auto other = start_dequeue(session, m.source.dequeue());
  CHECK(warnings() == 0);
  for (int i = 0; i < 200 && warnings() == 0; ++i) std::this_thread::sleep_for(50ms);
  std::this_thread::sleep_for(100ms);
  REQUIRE(warnings() == 1);
  const std::string said = log.lines_with("no queue runner")[0];
  CHECK(said.find("start_queue_runners(sess") != std::string::npos);
  CHECK(said.find("_Dequeue (QueueDequeueV2)") != std::string::npos);
  CHECK(said.find("queue_stop_test.cc:") != std::string::npos);
  // The wait continues after the warning.
  Coordinator coord;
  const auto threads = start_queue_runners(session, {.coord = &coord});
  CHECK(taken.get().item<std::int32_t>() == 7);
  CHECK(other.get().item<std::int32_t>() == 7);
  coord.request_stop();
  coord.join(threads);
}

TEST_CASE("a wait that a runner or somebody else may end is no reason to warn") {
  MovingPipeline m;
  QueueRunner runner(m.target, {m.move});
  const LogLines log;
  {
    Session session(m.graph);  // a runner that waits for input
    const auto threads = runner.create_threads(session, {.start = true});
    auto taken = start_dequeue(session, m.next);
    CHECK(taken.wait_for(1300ms) == std::future_status::timeout);
    session.run(m.fill);
    taken.get();
  }
  {
    Session session(m.graph);  // filled by hand
    session.run(m.fill);
    session.run(m.move);
    session.run(m.next);
    auto taken = start_dequeue(session, m.next);
    CHECK(taken.wait_for(1300ms) == std::future_status::timeout);
    session.run(m.fill);
    session.run(m.move);
    taken.get();
  }
  CHECK(log.lines_with("no queue runner").empty());
}
