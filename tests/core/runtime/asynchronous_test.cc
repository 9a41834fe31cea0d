// Steps on asynchronous accelerators: values, order and memory do not depend on timing or on which
// task fails, with variables on the host or on accelerators.
#include <doctest/doctest.h>

#include <atomic>
#include <thread>

#include "tests/core/runtime/two_towers.h"

using namespace towerflow;
using testing::count_changed;
using testing::InjectedError;
using testing::Program;
using testing::Runtime;
using testing::simulated;
using testing::train_three_steps;

namespace {

constexpr VariableHome kHomes[] = {VariableHome::host, VariableHome::device,
                                   VariableHome::mirrored};

/// Returns the variables before each of three steps and after the last, as computed on CPUs.
std::vector<std::vector<Array>> reference_states(Program& program) {
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

/// Returns the message of the InternalError that `run` throws; "" if it throws none.
template <class Run>
std::string internal_error_of(const Run& run) {
  try {
    run();
  } catch (const errors::InternalError& error) {
    return error.what();
  }
  return "";
}

/// Counts over all injected faults of a program.
struct Faults {
  int in_steps = 0, unchanged = 0;
  int in_init = 0;  ///< failed while initializing variables
};

class FaultTest {
 public:
  explicit FaultTest(VariableHome home) : program_(home) {
    const auto guard = program_.graph.as_default();
    for (const Variable& variable : program_.variables) {
      initialized_.push_back(tf::is_variable_initialized(variable));
    }
    states_ = reference_states(program_);
  }

  /// Injects a fault into each task of each engine up to the second step.
  Faults run() {
    for (const int device : {0, 1}) {
      for (const Lane lane : kLanes) {
        for (int task = 0; fails({device, lane, task}); ++task) continue;
      }
    }
    return faults_;
  }

 private:
  /// Returns whether the engine has a task of this number, in which case the run must fail.
  bool fails(const SimulatedFault& fault) {
    CAPTURE(fault.device);
    CAPTURE(std::string(lane_name(fault.lane)));
    CAPTURE(fault.task);
    const SimulatedDevices devices{.count = 2, .latency = 0, .jitter = 20e-6, .fault = fault};
    Session session(program_.graph, simulated(devices));
    std::string message = internal_error_of([&] { session.run(program_.init); });
    if (!message.empty()) {
      ++faults_.in_init;
      check_first_values(session);
    } else {
      std::size_t step = 0;
      for (; step < 2 && message.empty(); ++step) {
        const Feeds feeds = program_.feeds(static_cast<int>(step));
        message = internal_error_of([&] { session.run(program_.fetches, feeds); });
      }
      if (message.empty()) return false;
      ++faults_.in_steps;
      check_step(session, step - 1);
    }
    const std::string index = std::to_string(fault.device);
    CHECK(message.find("simulated fault of accelerator " + index) != std::string::npos);
    CHECK(message.find("device:SIM:" + index) != std::string::npos);
    return true;
  }

  /// Checks that each variable has its initial value or is uninitialized.
  void check_first_values(Session& session) {
    for (std::size_t i = 0; i < initialized_.size(); ++i) {
      if (session.run(initialized_[i]).item<bool>()) {
        CHECK(session.run(program_.variables[i]) == states_[0][i]);
      } else {
        CHECK_THROWS_AS(session.run(program_.variables[i]), errors::FailedPreconditionError);
      }
    }
    program_.load(session, states_[0]);
    CHECK(program_.values(session) == states_[0]);
  }

  /// Checks that each variable is as before or as after the failed step, and that the session
  /// continues from there: no device mistakes a stale replica for a current one.
  void check_step(Session& session, std::size_t step) {
    const auto values = program_.values(session);
    faults_.unchanged += count_changed(values, states_[step], states_[step + 1]) == 0;
    const Feeds feeds = program_.feeds(2);
    const std::vector<Fetch> losses{program_.losses[0], program_.losses[1]};
    Session reference(program_.graph, {.allow_soft_placement = true});
    program_.load(reference, values);
    CHECK(session.run(losses, feeds) == reference.run(losses, feeds));
    session.run(program_.fetches, feeds);
    reference.run(program_.fetches, feeds);
    CHECK(program_.values(session) == program_.values(reference));
  }

  Program program_;
  std::vector<Tensor> initialized_;
  std::vector<std::vector<Array>> states_;
  Faults faults_;
};

}  // namespace

TEST_CASE("whatever the delays, the bits are those of CPUs") {
  for (const VariableHome home : kHomes) {
    Program program(home);
    const auto expected =
        train_three_steps(program, {.device_count = {{"CPU", 2}}, .allow_soft_placement = true});
    for (const int count : {1, 2, 4}) {
      for (unsigned seed = 0; seed < 20; ++seed) {
        CAPTURE(home);
        CAPTURE(count);
        CAPTURE(seed);
        const SimulatedDevices devices{
            .count = count, .latency = 0, .jitter = 200e-6, .jitter_seed = seed};
        CHECK(train_three_steps(program, simulated(devices)) == expected);
      }
    }
  }
}

TEST_CASE("a fault of any engine at any time leaves each variable as it was, or as it was to be") {
  for (const VariableHome home : kHomes) {
    CAPTURE(home);
    const Faults faults = FaultTest(home).run();
    MESSAGE(faults.in_steps << " faults, " << faults.unchanged << " left every variable as it was; "
                            << faults.in_init << " while variables got their first values");
    CHECK(faults.in_steps > 40);
    CHECK(faults.unchanged > faults.in_steps / 2);
    if (home == VariableHome::device) CHECK(faults.in_init > 10);
  }
}

TEST_CASE(
    "an error at any instruction of any queue frees nothing early, and changes no variable "
    "before the commit") {
  for (const VariableHome home : kHomes) {
    CAPTURE(home);
    Program program(home);
    Runtime runtime(program.graph, simulated({.count = 2, .latency = 0, .jitter = 50e-6}));
    const std::vector<Fetch> all(program.variables.begin(), program.variables.end());
    const Feeds feeds = program.feeds(0);
    const Plan init = runtime.compile({program.init}, {});
    const Plan read = runtime.compile(all, {});
    const Plan train = runtime.compile(program.fetches, feeds);
    REQUIRE(train.queues.size() == 7);  // one for the host, three for each of two devices
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
        runtime.run(load, given);  // restores the initial values
        std::atomic<bool> committed{false};
        CHECK_THROWS_AS(
            runtime.run(train, feeds,
                        [&](std::size_t in, std::size_t number) {
                          const auto& list = train.queues[in].instructions;
                          if (number > 0 && list[number - 1].kind == Instruction::Kind::commit) {
                            committed = true;
                          }
                          if (in == queue && number == at) throw InjectedError("injected");
                        }),
            InjectedError);
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
}

TEST_CASE("no run reads half of what another one writes, or loses it") {
  for (const VariableHome home : kHomes) {
    CAPTURE(home);
    Graph graph;
    const auto guard = graph.as_default();
    const Variable v = [&] {
      const auto device = tf::device(home == VariableHome::device ? "/gpu:0" : "/cpu:0");
      return Variable(tf::zeros({20000}), {.name = "v", .home = home});
    }();
    std::vector<std::pair<Tensor, Tensor>> reads;
    for (const char* reader : {"", "/gpu:0", "/gpu:1"}) {
      const auto device = tf::device(reader);
      // One read for both reductions, since a second one might see newer values.
      const Tensor seen = v * 2.0F;
      reads.emplace_back(tf::reduce_min(seen), tf::reduce_max(seen));
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
    for (const auto& pair : reads) {
      threads.emplace_back([&, pair] {
        for (int i = 0; i < kRuns; ++i) {
          const auto [a, b] = session.run({pair.first, pair.second});
          torn += a.item<float>() != b.item<float>();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(torn == 0);
    CHECK(session.run(reads[0].second).item<float>() == 2 * 2 * kRuns);
  }
}
