// Asynchronous training: workers that do not wait for each other, and how to repeat what they did.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "tests/support/eager.h"
#include "towerflow/tf.h"

using namespace towerflow;
using parallel::AsyncOptions;
using parallel::AsyncStep;
using parallel::train_async;
using testing::numbers;

namespace {

/// A small network that each worker trains on what it is fed.
struct Program {
  explicit Program(train::GradientFunction function = {}) {
    const auto guard = graph.as_default();
    tf::set_random_seed(7);
    const Variable global_step = tf::train::get_or_create_global_step();
    tf::train::MomentumOptimizer opt(0.05, 0.9);
    std::optional<train::GradientScope> scope;
    if (function) scope.emplace(graph, train::GradientChanges{.applied = function});
    const auto gpu = tf::device("/gpu:0");
    x = tf::placeholder(tf::float32, {.shape = {4, 6}});
    const auto get = [](const char* name, const Shape& shape) {
      const auto cpu = tf::device("/cpu:0");
      return tf::get_variable(name, shape);
    };
    const Tensor y = tf::matmul(tf::tanh(tf::matmul(x, get("w", {6, 8}))), get("u", {8, 3}));
    loss = tf::reduce_mean(tf::square(tf::nn::dropout(y, 0.8) - 1.0));
    train = opt.minimize(loss, {.global_step = global_step});
    init = tf::global_variables_initializer();
    for (const Variable& v : tf::global_variables()) variables.emplace_back(v);
  }

  AsyncOptions options(int workers, std::int64_t steps) const {
    return {.workers = workers, .steps = steps, .feeds = [this](int worker, std::int64_t step) {
              Array value(float32, {4, 6});
              for (int i = 0; i < 24; ++i) {
                value.data<float>()[i] =
                    static_cast<float>((i * 7 + worker * 5 + step * 3) % 11) * 0.1F - 0.5F;
              }
              return Feeds{{x, value}};
            }};
  }

  Graph graph;
  Tensor x, loss;
  Operation train, init;
  std::vector<Fetch> variables;
};

ConfigProto accelerators(int count, unsigned seed = 0) {
  return {.allow_soft_placement = true,
          .simulated = {.count = count, .latency = 0, .jitter = 300e-6, .jitter_seed = seed}};
}

/// Returns the losses by worker and step.
std::map<std::pair<int, std::int64_t>, float> losses_of(const std::vector<AsyncStep>& steps) {
  std::map<std::pair<int, std::int64_t>, float> losses;
  for (const AsyncStep& step : steps) {
    losses[{step.worker, step.step}] = step.values[1].item<float>();
  }
  return losses;
}

}  // namespace

TEST_CASE("a replayed interleaving repeats every value, whatever the timing") {
  Program program;
  for (unsigned seed = 0; seed < 3; ++seed) {
    CAPTURE(seed);
    Interleaving order;
    AsyncOptions options = program.options(3, 24);
    options.interleaving = &order;
    Session session(program.graph, accelerators(3, seed));
    session.run(program.init);
    const auto steps = train_async(session, {program.train, program.loss}, options);
    const auto values = session.run(program.variables);
    REQUIRE(steps.size() == 24);
    CHECK(order.accesses() > 24 * 4);
    for (unsigned other = 100; other < 102; ++other) {
      CAPTURE(other);
      order.replay();
      Session again(program.graph, accelerators(3, seed + other));
      again.run(program.init);
      const auto repeated = train_async(again, {program.train, program.loss}, options);
      CHECK(losses_of(repeated) == losses_of(steps));
      CHECK(again.run(program.variables) == values);
      for (const AsyncStep& step : repeated) {
        const auto same = std::find_if(steps.begin(), steps.end(), [&](const AsyncStep& made) {
          return made.worker == step.worker && made.step == step.step;
        });
        REQUIRE(same != steps.end());
        CHECK(step.staleness == same->staleness);
      }
    }
  }
}

TEST_CASE("workers take accelerators of their own, and lose no update") {
  Program program;
  Session session(program.graph, accelerators(2));
  session.run(program.init);
  const auto steps = train_async(session, {program.train, program.loss}, program.options(2, 30));
  CHECK(steps.size() == 30);
  std::set<int> workers;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    workers.insert(steps[i].worker);
    CHECK(steps[i].update == static_cast<std::int64_t>(i));
    CHECK(steps[i].staleness >= 0);
    CHECK(steps[i].end > steps[i].begin);
  }
  CHECK(workers == std::set<int>{0, 1});
  CHECK(numbers(session.run(program.variables[0]))[0] == 30);  // the global step
  RunMetadata metadata;
  const auto options = program.options(2, 1);
  session.run(std::vector<Fetch>{program.train}, options.feeds(1, 0),
              {.trace_level = RunOptions::FULL_TRACE, .worker = 1}, &metadata);
  const auto on_second = [](const NodeStats& stats) { return stats.device.ends_with("SIM:1"); };
  const auto on_first = [](const NodeStats& stats) { return stats.device.ends_with("SIM:0"); };
  CHECK(std::any_of(metadata.nodes.begin(), metadata.nodes.end(), on_second));
  CHECK(std::none_of(metadata.nodes.begin(), metadata.nodes.end(), on_first));
}

TEST_CASE("a bound keeps the workers together") {
  Program program;
  for (const std::int64_t bound : {0, 2}) {
    CAPTURE(bound);
    ConfigProto config = accelerators(3);
    config.simulated.slow = {{1, 20.0}};
    Session session(program.graph, config);
    session.run(program.init);
    AsyncOptions options = program.options(3, 30);
    options.bound = bound;
    std::vector<std::int64_t> made(3, 0);
    std::int64_t apart = 0;
    options.on_step = [&](const AsyncStep& step) {
      ++made[static_cast<std::size_t>(step.worker)];
      const auto [least, most] = std::minmax_element(made.begin(), made.end());
      apart = std::max(apart, *most - *least);
      return true;
    };
    const auto steps = train_async(session, {program.train, program.loss}, options);
    CHECK(steps.size() == 30);
    CHECK(apart <= bound + 1);
    // Each of the two others makes at most so many updates meanwhile.
    for (const AsyncStep& step : steps) CHECK(step.staleness <= 2 * (2 * bound + 1));
  }
}

TEST_CASE("one worker is a training as any other") {
  Program program;
  Session plain(program.graph, {.allow_soft_placement = true});
  plain.run(program.init);
  const auto options = program.options(1, 5);
  std::vector<float> losses;
  for (int step = 0; step < 5; ++step) {
    losses.push_back(
        plain.run({program.train, program.loss}, options.feeds(0, step))[1].item<float>());
  }
  Session session(program.graph, {.allow_soft_placement = true});
  session.run(program.init);
  const auto steps = train_async(session, {program.train, program.loss}, options);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    CHECK(steps[i].values[1].item<float>() == losses[i]);
    CHECK(steps[i].staleness == 0);
  }
  CHECK(session.run(program.variables) == plain.run(program.variables));
}

TEST_CASE("gradients may be scaled by a number, and by their staleness") {
  Program scaled(parallel::scaled_gradients(0.0F));
  Session session(scaled.graph, {.allow_soft_placement = true});
  session.run(scaled.init);
  const auto before = session.run(scaled.variables);
  train_async(session, {scaled.train, scaled.loss}, scaled.options(2, 6));
  const auto after = session.run(scaled.variables);
  for (std::size_t i = 1; i < after.size(); ++i) CHECK(after[i] == before[i]);

  Graph graph;
  const auto guard = graph.as_default();
  const Variable global_step = tf::train::get_or_create_global_step();
  const parallel::StalenessScale scale(global_step);
  const Variable w = tf::get_variable("w", Shape{}, {.initializer = tf::zeros_initializer()});
  const auto scope = tf::train::transform_gradients(scale);
  const Tensor wait = tf::placeholder(tf::float32, {.shape = {}});
  tf::train::GradientDescentOptimizer opt(1.0);
  const Operation step = opt.minimize(w * wait, {.global_step = global_step});
  // Others update between the beginning of the step and its update.
  const Tensor late = tf::assign_add(global_step, 4);
  Session plain;
  plain.run(tf::global_variables_initializer());
  plain.run(step, {{wait, 1.0F}});
  CHECK(plain.run(w).item<float>() == -1);
  plain.run({late, step}, {{wait, 8.0F}});
  CHECK(std::abs(plain.run(w).item<float>()) >= 3);
}

TEST_CASE("workers share a queue: each element once, and to the same worker in a replay") {
  Graph graph;
  const auto guard = graph.as_default();
  const tf::FIFOQueue queue(100, {tf::int32}, {.shapes = {{}}});
  const Operation fill = queue.enqueue_many({tf::range(40)});
  const Operation close = queue.close();
  const Tensor element = queue.dequeue()[0];
  const Variable sum = tf::get_variable(
      "sum", Shape{}, {.dtype = tf::int32, .initializer = tf::zeros_initializer()});
  const Tensor add = tf::assign_add(sum, element);
  Interleaving order;
  AsyncOptions options{.workers = 3, .steps = 100, .interleaving = &order};
  std::vector<std::vector<std::pair<int, int>>> all;
  for (int run = 0; run < 2; ++run) {
    Session session;
    session.run(sum.initializer());
    session.run(fill);
    session.run(close);
    const auto steps = train_async(session, {add, element}, options);  // until the queue is empty
    CHECK(steps.size() == 40);
    CHECK(session.run(sum).item<std::int32_t>() == 39 * 20);
    all.emplace_back();
    for (const AsyncStep& step : steps) {
      all.back().emplace_back(step.values[1].item<std::int32_t>(), step.worker);
    }
    std::sort(all.back().begin(), all.back().end());
    order.replay();
  }
  for (int i = 0; i < 40; ++i) CHECK(all[0][static_cast<std::size_t>(i)].first == i);
  CHECK(all[0] == all[1]);
}

/// A queue that holds the numbers below a fed one, and then ends.
struct ShortInput {
  tf::FIFOQueue queue{100, {tf::int32}, {.shapes = {{}}}};
  Tensor count = tf::placeholder(tf::int32, {.shape = {}});
  Operation fill = queue.enqueue_many({tf::range(count)});
  Operation close = queue.close();
  Tensor element = queue.dequeue()[0];

  void put(Session& session, int elements) const {
    session.run(fill, {{count, elements}});
    session.run(close);
  }
};

TEST_CASE("a replay that ends earlier than the recorded training does not hang") {
  Graph graph;
  const auto guard = graph.as_default();
  const ShortInput input;
  const Variable sum = tf::get_variable(
      "sum", Shape{}, {.dtype = tf::int32, .initializer = tf::zeros_initializer()});
  const Tensor add = tf::assign_add(sum, input.element);
  for (int repeat = 0; repeat < 20; ++repeat) {
    Interleaving order;
    AsyncOptions options{.workers = 4, .steps = 100, .interleaving = &order};
    const auto train = [&](int elements) {
      Session session;
      session.run(sum.initializer());
      input.put(session, elements);
      return train_async(session, {add, input.element}, options).size();
    };
    CHECK(train(20) == 20);
    order.replay();
    CHECK(train(20) == 20);
    order.replay();
    CHECK_THROWS_AS(train(10), errors::OutOfRangeError);
    order.replay();
    CHECK_THROWS_AS(train(19), errors::OutOfRangeError);
    order.replay();
    options.on_step = [made = 0](const AsyncStep&) mutable { return ++made < 5; };
    const std::size_t made = train(20);
    CHECK(made >= 5);
    CHECK(made < 20);
  }
}

TEST_CASE("a replay whose input ends at the last recorded step says so") {
  Graph graph;
  const auto guard = graph.as_default();
  const ShortInput input;
  Interleaving order;
  const AsyncOptions options{.workers = 1, .steps = 5, .interleaving = &order};
  const auto train = [&](int elements) {
    Session session;
    input.put(session, elements);
    return train_async(session, {input.element}, options).size();
  };
  CHECK(train(20) == 5);
  order.replay();
  CHECK(train(5) == 5);
  order.replay();
  CHECK_THROWS_AS(train(4), errors::OutOfRangeError);
}

TEST_CASE("an error of a worker ends all, and nothing hangs") {
  Program program;
  for (const bool replays : {false, true}) {
    CAPTURE(replays);
    Interleaving order;
    AsyncOptions options = program.options(3, 30);
    options.interleaving = &order;
    Session session(program.graph, accelerators(3));
    session.run(program.init);
    if (replays) {
      train_async(session, {program.train, program.loss}, options);
      order.replay();
      session.run(program.init);
    }
    options.feeds = [&, feeds = options.feeds](int worker, std::int64_t step) {
      if (worker == 1 && step == 2) return Feeds{};  // the placeholder is not fed
      return feeds(worker, step);
    };
    CHECK_THROWS_AS(train_async(session, {program.train, program.loss}, options), Error);
  }
  CHECK_THROWS_AS(
      train_async(*std::make_unique<Session>(program.graph), {program.train}, {.workers = 0}),
      ValueError);
}
