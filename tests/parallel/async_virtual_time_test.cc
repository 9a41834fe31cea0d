// Asynchronous training in the order of the virtual clock.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <stdexcept>
#include <thread>
#include <vector>

#include "core/device/virtual_host.h"
#include "tests/support/eager.h"
#include "towerflow/tf.h"

using namespace towerflow;
using parallel::AsyncOptions;
using parallel::AsyncStep;
using parallel::train_async;
using testing::numbers;

namespace {

struct Program {
  Program() {
    const auto guard = graph.as_default();
    tf::set_random_seed(7);
    const Variable global_step = tf::train::get_or_create_global_step();
    const auto gpu = tf::device("/gpu:0");
    const Variable w = tf::get_variable("w", {16, 16});
    const Tensor loss = tf::reduce_mean(tf::square(tf::matmul(w, w) - 1.0));
    train = tf::train::GradientDescentOptimizer(0.1).minimize(loss, {.global_step = global_step});
    init = tf::global_variables_initializer();
    count = global_step;
  }

  std::vector<AsyncStep> run(const ConfigProto& config, const AsyncOptions& options) {
    Session session(graph, config);
    session.run(init);
    auto steps = train_async(session, {train}, options);
    updates = numbers(session.run(count))[0];
    return steps;
  }

  Graph graph;
  Operation train, init;
  Tensor count;
  double updates = 0;  // as the graph counts them
};

/// Jitter delays the work on this machine, and nothing on the virtual clock.
ConfigProto accelerators(int count, double latency = 10e-6) {
  return {.allow_soft_placement = true,
          .simulated = {.count = count, .latency = latency, .jitter = 300e-6}};
}

std::map<int, std::vector<AsyncStep>> by_worker(const std::vector<AsyncStep>& steps) {
  std::map<int, std::vector<AsyncStep>> of;
  for (const AsyncStep& step : steps) of[step.worker].push_back(step);
  return of;
}

}  // namespace

TEST_CASE("steps end in the order of the virtual clock, and a worker's follow each other on it") {
  Program program;
  ConfigProto config = accelerators(3);
  config.simulated.slow = {{1, 200.0}};
  const auto steps = program.run(config, {.workers = 3, .steps = 60, .virtual_time = true});
  REQUIRE(steps.size() == 60);
  CHECK(program.updates == 60);
  CHECK(std::is_sorted(steps.begin(), steps.end(),
                       [](const AsyncStep& a, const AsyncStep& b) { return a.end < b.end; }));
  auto workers = by_worker(steps);
  for (const auto& [worker, made] : workers) {
    CHECK(made[0].begin == 0);
    for (std::size_t i = 1; i < made.size(); ++i) CHECK(made[i].begin == made[i - 1].end);
  }
  CHECK(workers[1].size() < workers[0].size());
  CHECK(workers[1].size() < workers[2].size());
}

TEST_CASE("the virtual clock counts latencies as they are, for all workers at once") {
  Program program;
  const double latency = 5e-3;  // more than all kernels of a step
  const auto steps = program.run(accelerators(2, latency), {.steps = 12, .virtual_time = true});
  const auto workers = by_worker(steps);
  CHECK(workers.at(0).size() == 6);
  CHECK(workers.at(1).size() == 6);
  for (const AsyncStep& step : steps)
    CHECK(step.end - step.begin >= 2 * latency);  // w, and its grad
}

TEST_CASE("with a bound of zero, all workers begin when the slowest has ended its step") {
  Program program;
  ConfigProto config = accelerators(3);
  config.simulated.slow = {{2, 50.0}};
  const auto steps =
      program.run(config, {.workers = 3, .steps = 15, .bound = 0, .virtual_time = true});
  auto workers = by_worker(steps);
  for (std::size_t step = 1; step < 5; ++step) {
    double ended = 0;
    for (int worker = 0; worker < 3; ++worker) {
      REQUIRE(workers[worker].size() == 5);
      ended = std::max(ended, workers[worker][step - 1].end);
    }
    for (int worker = 0; worker < 3; ++worker) CHECK(workers[worker][step].begin == ended);
  }
}

TEST_CASE("an interleaving is recorded in virtual time, and replayed without it") {
  Program program;
  Interleaving order;
  AsyncOptions options{.workers = 3, .steps = 20, .interleaving = &order, .virtual_time = true};
  program.run(accelerators(3), options);
  order.replay();
  CHECK_THROWS_WITH_AS(program.run(accelerators(3), options),
                       doctest::Contains("replayed in its own order"), ValueError);
  options.virtual_time = false;
  CHECK(program.run(accelerators(3), options).size() == 20);
}

TEST_CASE("virtual time needs simulated accelerators and one logical CPU") {
  Program program;
  const AsyncOptions options{.workers = 2, .steps = 4, .virtual_time = true};
  CHECK_THROWS_WITH_AS(program.run({.allow_soft_placement = true}, options),
                       doctest::Contains("has no virtual time"), errors::InvalidArgumentError);
  {
    const auto guard = program.graph.as_default();
    const auto cpu = tf::device("/cpu:1");
    program.train = tf::group({program.train, tf::random_uniform({4}).op()});
  }
  ConfigProto config = accelerators(2);
  config.device_count["CPU"] = 2;
  CHECK_THROWS_WITH_AS(program.run(config, options), doctest::Contains("several logical CPUs"),
                       errors::UnimplementedError);
}

TEST_CASE("an error of one worker ends the training of all") {
  Program program;
  AsyncOptions options{.workers = 3, .steps = 1000, .virtual_time = true};
  for (const std::optional<std::int64_t> bound : {std::optional<std::int64_t>{}, {0}, {2}}) {
    options.bound = bound;
    options.feeds = [](int worker, std::int64_t step) -> Feeds {
      if (worker == 1 && step == 3) throw std::runtime_error("no batch");
      return {};
    };
    CHECK_THROWS_WITH(program.run(accelerators(3), options), "no batch");
    options.feeds = nullptr;
    ConfigProto faulty = accelerators(3);
    faulty.simulated.fault = {.device = 2, .task = 30};
    CHECK_THROWS_WITH_AS(program.run(faulty, options), doctest::Contains("simulated fault"),
                         errors::InternalError);
    options.on_step = [](const AsyncStep& step) { return step.update < 9; };
    CHECK(program.run(accelerators(3), options).size() >= 10);
    options.on_step = nullptr;
  }
}

TEST_CASE("a worker may wait for another one at a queue") {
  Program program;
  Tensor takes;
  {
    const auto guard = program.graph.as_default();
    const auto cpu = tf::device("/cpu:0");
    const tf::FIFOQueue queue(1, {tf::int32}, {.shapes = {{}}});
    takes = tf::placeholder(tf::bool_, {.shape = {}});
    // The worker that takes comes first on the virtual clock, when the queue is empty.
    const Tensor moved = tf::cond(
        takes, [&] { return Tensor(queue.dequeue()) + Tensor(queue.dequeue()); },
        [&] {
          const auto after = tf::control_dependencies({queue.enqueue({1}), queue.enqueue({2})});
          return tf::constant(3);
        });
    program.train = tf::group({program.train, moved.op()});
  }
  AsyncOptions options{.steps = 20, .bound = 0, .virtual_time = true};
  options.feeds = [&](int worker, std::int64_t) { return Feeds{{takes, worker == 0}}; };
  CHECK(program.run(accelerators(2), options).size() == 20);
}

TEST_CASE("a queue that is closed ends the workers that wait for the one at it") {
  Program program;
  Tensor takes;
  Operation fill, close;
  {
    const auto guard = program.graph.as_default();
    const auto cpu = tf::device("/cpu:0");
    const tf::FIFOQueue queue(3, {tf::int32}, {.shapes = {{}}});
    takes = tf::placeholder(tf::bool_, {.shape = {}});
    const Tensor moved = tf::cond(
        takes, [&] { return Tensor(queue.dequeue()); }, [] { return tf::constant(3); });
    fill = queue.enqueue_many({{1, 2, 3}});
    close = queue.close();
    program.train = tf::group({program.train, moved.op()});
  }
  AsyncOptions options{.workers = 3, .steps = 1000, .bound = 0, .virtual_time = true};
  options.feeds = [&](int worker, std::int64_t) { return Feeds{{takes, worker == 0}}; };
  Session session(program.graph, accelerators(3));
  session.run(program.init);
  session.run(fill);
  // By then the first worker waits for a fourth element, and the others for the first worker.
  std::thread closing([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    session.run(close);
  });
  const auto steps = train_async(session, {program.train}, options);
  closing.join();
  CHECK(steps.size() == 11);
}

TEST_CASE("the host's core is given in the order of virtual time, and to one at a time") {
  VirtualHost host(2);
  Cancellation none;
  std::vector<double> begun(2);
  const auto want = [&](int worker, double time, double seconds) {
    begun[static_cast<std::size_t>(worker)] = host.take_core(worker, time, none);
    host.free_core(worker, begun[static_cast<std::size_t>(worker)] + seconds);
    host.leave(worker);
  };
  // The first thread comes first on this machine, the second on the virtual clock.
  std::thread later([&] { want(0, 2, 1); });
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  std::thread earlier([&] { want(1, 1.5, 1); });
  later.join();
  earlier.join();
  CHECK(begun == std::vector<double>{2.5, 1.5});
}

TEST_CASE(
    "a worker that left is not waited for until it joins, and a cancelled one stops waiting") {
  VirtualHost host(2);
  Cancellation none, cancelled;
  host.leave(1);
  CHECK(host.take_core(0, 5, none) == 5);
  host.free_core(0, 6);
  host.join(1, 5.5);
  CHECK(host.now(1) == 5.5);
  host.advance(1, 5);
  CHECK(host.now(1) == 5.5);
  std::thread waits(
      [&] { CHECK_THROWS_AS(host.take_core(0, 7, cancelled), errors::CancelledError); });
  cancelled.cancel();
  waits.join();
  CHECK(host.take_core(1, 5.5, none) == 6);  // when the core is free
}
