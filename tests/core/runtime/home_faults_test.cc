// Variables on accelerators that work by themselves: delays, faults, and several runs at once.
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

namespace {

constexpr VariableHome kDevice = VariableHome::device;

/// The variables before each of three steps and after the last, as CPUs make them.
std::vector<std::vector<Array>> states_of(Program& program) {
  std::vector<std::vector<Array>> states;
  Session session(program.graph, {.allow_soft_placement = true});
  session.run(program.init);
  for (int step = 0; step < 3; ++step) {
    states.push_back(program.values(session));
    session.run(program.fetches, program.feeds(step));
  }
  states.push_back(program.values(session));
  return states;
}

/// What `run` throws as an InternalError; "" for nothing.
template <class Run>
std::string fault_of(const Run& run) {
  try {
    run();
  } catch (const errors::InternalError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("the bits of variables on accelerators are those of CPUs, whatever the delays") {
  Program program(kDevice);
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

TEST_CASE("a fault of any engine leaves each variable as it was, or as it was to be") {
  Program program(kDevice);
  std::vector<Tensor> set;
  {
    const auto guard = program.graph.as_default();
    for (const Variable& variable : program.variables) {
      set.push_back(tf::is_variable_initialized(variable));
    }
  }
  const auto states = states_of(program);
  int faults = 0, in_init = 0, unchanged = 0;
  for (const int device : {0, 1}) {
    for (const Lane lane : {Lane::compute, Lane::upload, Lane::download}) {
      for (int task = 0;; ++task) {
        CAPTURE(device);
        CAPTURE(std::string(lane_name(lane)));
        CAPTURE(task);
        const SimulatedDevices devices{
            .count = 2, .latency = 0, .jitter = 20e-6, .fault = {device, lane, task}};
        Session session(program.graph, simulated(devices));
        std::string message = fault_of([&] { session.run(program.init); });
        if (!message.empty()) {
          ++in_init;
          CHECK(message.find("simulated fault") != std::string::npos);
          for (std::size_t i = 0; i < set.size(); ++i) {
            if (session.run(set[i]).item<bool>()) {
              CHECK(session.run(program.variables[i]) == states[0][i]);
            } else {
              CHECK_THROWS_AS(session.run(program.variables[i]), errors::FailedPreconditionError);
            }
          }
          program.load(session, states[0]);
          CHECK(program.values(session) == states[0]);
          continue;
        }
        int step = 0;
        for (; step < 2 && message.empty(); ++step) {
          message = fault_of([&] { session.run(program.fetches, program.feeds(step)); });
        }
        if (message.empty()) break;  // fewer tasks than that
        ++faults;
        CHECK(message.find("simulated fault of accelerator " + std::to_string(device)) !=
              std::string::npos);
        const auto at = static_cast<std::size_t>(step - 1);
        const auto values = program.values(session);
        const int changed = count_changed(values, states[at], states[at + 1]);
        unchanged += changed == 0;
        // The session goes on, and no device believes it has what it has not.
        const auto found = session.run({program.losses[0], program.losses[1]}, program.feeds(2));
        Session reference(program.graph, {.allow_soft_placement = true});
        program.load(reference, values);
        CHECK(found == reference.run({program.losses[0], program.losses[1]}, program.feeds(2)));
        // What is updated next is what is there.
        session.run(program.fetches, program.feeds(2));
        reference.run(program.fetches, program.feeds(2));
        CHECK(program.values(session) == program.values(reference));
      }
    }
  }
  MESSAGE(faults << " faults, " << unchanged << " left every variable as it was; " << in_init
                 << " while variables got their first values");
  CHECK(faults > 40);
  CHECK(in_init > 10);
  CHECK(unchanged > faults / 2);
}

TEST_CASE("an error before the commit of a step changes no variable of any accelerator") {
  Program program(kDevice);
  Runtime runtime(program.graph, simulated({.count = 2, .latency = 0, .jitter = 50e-6}));
  const std::vector<Fetch> all(program.variables.begin(), program.variables.end());
  const Feeds feeds = program.feeds(0);
  const Plan init = runtime.compile({program.init}, {});
  const Plan read = runtime.compile(all, {});
  const Plan train = runtime.compile(program.fetches, feeds);
  runtime.run(init, {});
  const auto before = runtime.run(read, {});
  Feeds given;
  for (std::size_t i = 0; i < before.size(); ++i) given.emplace_back(program.given[i], before[i]);
  const Plan load = runtime.compile(program.loads, given);
  runtime.run(train, feeds);
  const auto after = runtime.run(read, {});
  int failed = 0, kept = 0;
  for (std::size_t queue = 0; queue < train.queues.size(); ++queue) {
    for (std::size_t at = 0; at < train.queues[queue].instructions.size(); ++at) {
      CAPTURE(queue);
      CAPTURE(at);
      runtime.run(load, given);  // back to where it began
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
      kept += !committed;
      ++failed;
    }
  }
  MESSAGE(failed << " errors, " << kept << " before the commit");
  CHECK(failed > 60);
  CHECK(kept > 30);
}

TEST_CASE("no run reads half of what another one writes on an accelerator, or loses it") {
  Graph graph;
  const auto guard = graph.as_default();
  Variable v;
  Tensor low, high, far_low, far_high;
  const auto read = [&](Tensor& smallest, Tensor& largest) {
    const Tensor seen = v * 2.0F;  // by one kernel: what another one reads may be newer
    smallest = tf::reduce_min(seen);
    largest = tf::reduce_max(seen);
  };
  {
    const auto gpu = tf::device("/gpu:0");
    v = Variable(tf::zeros({20000}), {.name = "v", .home = kDevice});
  }
  read(low, high);
  {
    const auto gpu = tf::device("/gpu:1");
    read(far_low, far_high);
  }
  const Tensor change = tf::assign_add(v, tf::ones({20000}));
  Session session(graph, simulated({.count = 2, .latency = 0, .jitter = 100e-6}));
  session.run(v.initializer());
  constexpr int kRuns = 40;
  std::vector<std::thread> threads;
  std::atomic<int> torn{0};
  for (int writer = 0; writer < 2; ++writer) {
    threads.emplace_back([&] {
      for (int i = 0; i < kRuns; ++i) session.run(change);
    });
  }
  for (const auto& pair : {std::pair(low, high), std::pair(far_low, far_high)}) {
    threads.emplace_back([&, pair] {
      for (int i = 0; i < kRuns; ++i) {
        const auto [a, b] = session.run({pair.first, pair.second});
        torn += a.item<float>() != b.item<float>();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(torn == 0);
  CHECK(session.run(high).item<float>() == 2 * 2 * kRuns);
}
