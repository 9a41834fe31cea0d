// Failing steps end in an error or complete, but never hang or apply half an update.
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <thread>

#include "core/device/cancellation.h"
#include "tests/support/eager.h"
#include "towerflow/tf.h"

using namespace towerflow;

namespace {

/// Two towers on /gpu:0 and /gpu:1, each of which gathers rows of a table by fed indices. The
/// variables `a`, `b` and `c` all change by the same amount in every step.
struct Net {
  Net() {
    const auto guard = graph.as_default();
    const auto cpu = tf::device("/cpu:0");
    tf::train::MomentumOptimizer opt(0.5, 0.5);
    std::vector<std::vector<GradAndVar>> towers;
    {
      const auto vars = tf::variable_scope(tf::get_variable_scope());
      for (int i = 0; i < 2; ++i) {
        const auto device = tf::device("/gpu:" + std::to_string(i));
        const auto scope = tf::name_scope("tower_" + std::to_string(i));
        picks.push_back(tf::placeholder(tf::int32, {.shape = {3}, .name = "picks"}));
        Tensor total = tf::reduce_sum(tf::gather(tf::ones({4, 2}), picks.back()));
        for (const char* name : {"a", "b", "c"}) {
          const auto on_host = tf::device("/cpu:0");
          const Variable v =
              tf::get_variable(name, {50, 40}, {.initializer = tf::zeros_initializer()});
          const auto back = tf::device("/gpu:" + std::to_string(i));
          total = total + tf::reduce_sum(tf::tanh(v) * 2.0F + v);
        }
        losses.push_back(total);
        towers.push_back(opt.compute_gradients(total));
        tf::get_variable_scope().reuse_variables();
      }
    }
    train = opt.apply_gradients(average_gradients(towers));
    init = tf::global_variables_initializer();
    variables = tf::global_variables();
  }

  Feeds feeds(int wrong_in_tower = -1) const {
    Feeds all;
    for (int i = 0; i < 2; ++i) {
      all.emplace_back(picks[static_cast<std::size_t>(i)],
                       testing::array_of(int32, {3}, {0, 1, i == wrong_in_tower ? 99.0 : 3.0}));
    }
    return all;
  }
  std::vector<Array> values(Session& session) const {
    return session.run(std::vector<Fetch>(variables.begin(), variables.end()));
  }

  Graph graph;
  std::vector<Tensor> picks, losses;
  Operation train, init;
  std::vector<Variable> variables;
};

ConfigProto on_devices(bool simulated) {
  ConfigProto config{.device_count = {{"CPU", simulated ? 1 : 2}}, .allow_soft_placement = true};
  if (simulated) config.simulated.count = 2;
  return config;
}

bool all_equal(const std::vector<Array>& a, const std::vector<Array>& b) { return a == b; }

}  // namespace

TEST_CASE("a kernel that throws in one tower leaves every variable and slot as it was") {
  for (const bool simulated : {false, true}) {
    const Net net;
    Session session(const_cast<Graph&>(net.graph), on_devices(simulated));
    session.run(net.init);
    session.run(net.train, net.feeds());
    const auto before = net.values(session);
    for (const int tower : {0, 1}) {
      try {
        session.run(net.train, net.feeds(tower));
        // The gradients do not depend on the gathered rows, so the step need not gather them.
      } catch (const errors::InvalidArgumentError& error) {
        FAIL_CHECK("the losses are not fetched: " << error.what());
      }
    }
    session.run(net.init);
    session.run(net.train, net.feeds());
    CHECK(all_equal(net.values(session), before));
    const std::vector<Fetch> with_losses{net.train, net.losses[0], net.losses[1]};
    for (const int tower : {0, 1}) {
      CHECK_THROWS_WITH_AS(session.run(with_losses, net.feeds(tower)),
                           doctest::Contains(simulated ? "device:SIM:" : "device:CPU:"),
                           errors::InvalidArgumentError);
      CHECK(all_equal(net.values(session), before));
    }
    session.run(with_losses, net.feeds());
    CHECK_FALSE(all_equal(net.values(session), before));
  }
}

TEST_CASE("a queue closed under a tower ends the step before anything has changed") {
  for (const bool simulated : {false, true}) {
    Graph graph;
    const auto guard = graph.as_default();
    const Variable w(tf::zeros({4}), {.name = "w"});
    const FIFOQueue queue(4, {float32}, {.shapes = {{4}}});
    const Operation put = queue.enqueue({tf::ones({4})});
    Tensor sum;
    for (int i = 0; i < 2; ++i) {
      const auto device = tf::device("/gpu:" + std::to_string(i));
      const Tensor part = queue.dequeue();
      sum = i == 0 ? part : sum + part;
    }
    const Tensor change = tf::assign_add(w, tf::ones({4}));
    const std::vector<Fetch> step{change, sum};
    Session session(on_devices(simulated));
    session.run(w.initializer());
    session.run(put);
    auto running = std::async(std::launch::async, [&] { session.run(step); });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    session.run(queue.close());
    CHECK_THROWS_AS(running.get(), errors::OutOfRangeError);
    CHECK(session.run(w) == Array::zeros(float32, {4}));
  }
}

TEST_CASE("a step that is cancelled at any moment is either finished or has changed nothing") {
  for (const bool simulated : {false, true}) {
    const Net net;
    ConfigProto config = on_devices(simulated);
    if (simulated) config.simulated.jitter = 100e-6;
    Session session(const_cast<Graph&>(net.graph), config);
    session.run(net.init);
    const std::vector<Array> start = net.values(session);
    // Variables start equal and change alike, so a half-applied step would make them differ.
    int finished = 0, cancelled = 0;
    for (int i = 0; i < 60; ++i) {
      Cancellation cancellation;
      std::vector<Array> fed;
      for (const Feed& feed : net.feeds()) fed.push_back(feed.value());
      const auto step = session.make_callable({net.train, net.losses[0]}, net.picks, &cancellation);
      std::atomic<bool> started{false};
      std::thread canceller([&] {
        while (!started) std::this_thread::yield();
        const auto moment =
            std::chrono::steady_clock::now() + std::chrono::microseconds(i * (simulated ? 40 : 3));
        while (std::chrono::steady_clock::now() < moment) std::this_thread::yield();
        cancellation.cancel();
      });
      started = true;
      try {
        step(fed);
        ++finished;
      } catch (const errors::CancelledError&) {
        ++cancelled;
      }
      canceller.join();
      const auto now = net.values(session);
      CHECK(all_equal({now[0], now[0]}, {now[1], now[2]}));
      CHECK(all_equal({now[3], now[3]}, {now[4], now[5]}));
    }
    MESSAGE(finished << " finished, " << cancelled << " cancelled");
    CHECK(finished + cancelled == 60);
  }
}

TEST_CASE("a two-tower step repeats bit for bit under delays") {
  std::vector<Array> first;
  for (unsigned repeat = 0; repeat < 100; ++repeat) {
    const Net net;
    ConfigProto config = on_devices(true);
    config.simulated.jitter = 50e-6;
    config.simulated.jitter_seed = repeat;
    Session session(const_cast<Graph&>(net.graph), config);
    session.run(net.init);
    for (int step = 0; step < 2; ++step) session.run(net.train, net.feeds());
    auto values = net.values(session);
    if (repeat == 0)
      first = std::move(values);
    else
      CHECK(all_equal(values, first));
  }
}

TEST_CASE("a step that lacks a slot, or a value to read, has changed nothing") {
  Graph graph;
  const auto guard = graph.as_default();
  const auto ones = [](const char* name) {
    return tf::get_variable(name, {3}, {.initializer = tf::ones_initializer()});
  };
  const Variable a = ones("a"), b = ones("b"), c = ones("c");
  tf::train::MomentumOptimizer opt(0.5, 0.5);
  const Operation train = opt.minimize(tf::reduce_sum(a * a) + tf::reduce_sum(b * b),
                                       {.var_list = std::vector<Variable>{a, b}});
  const Tensor added = tf::assign_add(a, tf::ones({3})), read = c + 1.0F;
  Session session;
  std::vector<Variable> some;
  for (const Variable& v : tf::global_variables()) {
    if (v.name() != "b/Momentum:0" && v.name() != "c:0") some.push_back(v);
  }
  session.run(tf::variables_initializer(some));
  CHECK_THROWS_WITH_AS(session.run(train), doctest::Contains("b/Momentum"),
                       errors::FailedPreconditionError);
  CHECK_THROWS_AS(session.run({added, read}), errors::FailedPreconditionError);
  for (const Variable& v : {a, b}) CHECK(session.run(v).data<float>()[2] == 1.0F);
}

TEST_CASE("a placeholder that is not fed ends the step before anything has changed") {
  Graph graph;
  const auto guard = graph.as_default();
  const auto zero = [](const char* name) {
    return tf::get_variable(name, {2}, {.initializer = tf::zeros_initializer()});
  };
  const Variable a = zero("a"), b = zero("b");
  const Tensor first = tf::assign(a, tf::ones({2}));
  const Tensor x = tf::placeholder(tf::float32, {.shape = {2}, .name = "x"});
  const Tensor second = tf::assign(b, x);
  Session session;
  session.run(tf::global_variables_initializer());
  CHECK_THROWS_WITH_AS(session.run({first, second}), doctest::Contains("'x'"),
                       errors::InvalidArgumentError);
  CHECK(session.run(a) == Array::zeros(float32, {2}));
  session.run({first, second}, {{x, {3.0F, 4.0F}}});
  CHECK(session.run(a).data<float>()[0] == 1.0F);
  CHECK(session.run(b).data<float>()[1] == 4.0F);
}
