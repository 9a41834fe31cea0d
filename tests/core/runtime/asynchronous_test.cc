// Steps on accelerators that go on by themselves: bits, order and memory do not depend on when
// things happen, nor on which of them fails.
#include <doctest/doctest.h>

#include <atomic>
#include <thread>

#include "tests/core/runtime/two_towers.h"

using namespace towerflow;
using testing::count_changed;
using testing::Injected;
using testing::Program;
using testing::Runtime;
using testing::simulated;
using testing::trained;

TEST_CASE("whatever the delays, the bits are those of CPUs") {
  Program program;
  const auto expected =
      trained(program, {.device_count = {{"CPU", 2}}, .allow_soft_placement = true});
  for (const int count : {1, 2, 4}) {
    for (unsigned seed = 0; seed < 20; ++seed) {
      CAPTURE(count);
      CAPTURE(seed);
      const SimulatedDevices devices{
          .count = count, .latency = 0, .jitter = 200e-6, .jitter_seed = seed};
      CHECK(trained(program, simulated(devices)) == expected);
    }
  }
}

TEST_CASE(
    "a fault of any engine at any time is an error of its node, and leaves no half of a value") {
  Program program;
  std::vector<std::vector<Array>> states;  // before each step and after the last
  {
    Session session(program.graph, {.allow_soft_placement = true});
    session.run(program.init);
    for (int step = 0; step < 3; ++step) {
      states.push_back(program.values(session));
      session.run(program.fetches, program.feeds(step));
    }
    states.push_back(program.values(session));
  }
  int faults = 0, unchanged = 0;
  for (const int device : {0, 1}) {
    for (const Lane lane : {Lane::compute, Lane::upload, Lane::download}) {
      for (int task = 0;; ++task) {
        CAPTURE(device);
        CAPTURE(std::string(lane_name(lane)));
        CAPTURE(task);
        const SimulatedDevices devices{
            .count = 2, .latency = 0, .jitter = 20e-6, .fault = {device, lane, task}};
        Session session(program.graph, simulated(devices));
        session.run(program.init);
        int step = 0;
        std::string message;
        std::vector<Array> values;
        for (; step < 2 && message.empty(); ++step) {
          try {
            session.run(program.fetches, program.feeds(step));
          } catch (const errors::InternalError& error) {
            message = error.what();
          }
        }
        if (message.empty()) break;  // fewer tasks than that
        ++faults;
        CHECK(message.find("simulated fault of accelerator " + std::to_string(device)) !=
              std::string::npos);
        CHECK(message.find("device:SIM:" + std::to_string(device)) != std::string::npos);
        const auto at = static_cast<std::size_t>(step - 1);
        values = program.values(session);
        const int changed = count_changed(values, states[at], states[at + 1]);
        unchanged += changed == 0;
        // The session goes on, and no device believes it has what it has not.
        const auto found = session.run({program.losses[0], program.losses[1]}, program.feeds(2));
        Session reference(program.graph, {.allow_soft_placement = true});
        program.load(reference, values);
        CHECK(found == reference.run({program.losses[0], program.losses[1]}, program.feeds(2)));
      }
    }
  }
  MESSAGE(faults << " faults, " << unchanged << " left every variable as it was");
  CHECK(faults > 60);
  CHECK(unchanged > faults / 2);
}

TEST_CASE(
    "an error at any instruction of any queue frees nothing early and changes nothing by half") {
  Program program;
  Runtime runtime(program.graph, simulated({.count = 2, .latency = 0, .jitter = 50e-6}));
  const std::vector<Fetch> all(program.variables.begin(), program.variables.end());
  const Feeds feeds = program.feeds(0);
  const Plan init = runtime.compile({program.init}, {});
  const Plan read = runtime.compile(all, {});
  const Plan train = runtime.compile(program.fetches, feeds);
  REQUIRE(train.queues.size() == 7);  // of the host one, of each device three
  runtime.run(init, {});
  const auto before = runtime.run(read, {});
  runtime.run(train, feeds);
  const auto after = runtime.run(read, {});
  int failed = 0;
  for (std::size_t queue = 0; queue < train.queues.size(); ++queue) {
    for (std::size_t at = 0; at < train.queues[queue].instructions.size(); ++at) {
      CAPTURE(queue);
      CAPTURE(at);
      for (std::size_t i = 0; i < before.size(); ++i) {  // back to where it began
        VariableStorage& storage =
            *runtime.resources.find_variable(program.variables[i].op().name());
        std::copy_n(before[i].data<double>(), before[i].elements(), storage.value.data<double>());
        ++storage.version;
      }
      std::atomic<bool> committed{false};
      CHECK_THROWS_AS(
          runtime.run(train, feeds,
                      [&](std::size_t in, std::size_t number) {
                        const auto& list = train.queues[in].instructions;
                        if (number > 0 && list[number - 1].kind == Instruction::Kind::commit) {
                          committed = true;
                        }
                        if (in == queue && number == at) throw Injected("injected");
                      }),
          Injected);
      const int changed = count_changed(runtime.run(read, {}), before, after);
      if (!committed) CHECK(changed == 0);
      ++failed;
    }
  }
  CHECK(failed > 100);
}

TEST_CASE("a run never reads half of what another one writes") {
  Graph graph;
  const auto guard = graph.as_default();
  const Variable v(tf::zeros({20000}), {.name = "v"});
  Tensor low, high;
  {
    const auto gpu = tf::device("/gpu:0");
    const Tensor seen = v * 2.0F;  // by one kernel: what another one reads may be newer
    low = tf::reduce_min(seen);
    high = tf::reduce_max(seen);
  }
  const Tensor change = tf::assign_add(v, tf::ones({20000}));
  Session session(graph, simulated({.count = 1, .latency = 0, .jitter = 100e-6}));
  session.run(v.initializer());
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    while (!stop) session.run(change);
  });
  std::vector<std::thread> readers;
  std::atomic<int> torn{0};
  for (int reader = 0; reader < 2; ++reader) {
    readers.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        const auto [a, b] = session.run({low, high});
        torn += a.item<float>() != b.item<float>();
      }
    });
  }
  for (std::thread& reader : readers) reader.join();
  stop = true;
  writer.join();
  CHECK(torn == 0);
}
