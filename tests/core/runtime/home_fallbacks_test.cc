// Variables whose home is an accelerator that lacks kernels for some of their ops.
#include <doctest/doctest.h>

#include "tests/core/runtime/other_accelerator.h"
#include "tests/core/runtime/two_towers.h"

using namespace towerflow;
using testing::missing_kernels;
using testing::numbers;
using testing::simulated;
using testing::with_other_accelerators;

namespace {

constexpr VariableHome kDevice = VariableHome::device;

/// A variable on an accelerator of kind OTHER, updated by an optimizer.
struct OptimizedVariable {
  OptimizedVariable() {
    const auto guard = graph.as_default();
    const auto other = tf::device("/device:OTHER:0");
    w = tf::get_variable("w", {3}, {.initializer = tf::ones_initializer(), .home = kDevice});
    tf::train::MomentumOptimizer opt(0.5, 0.5);
    train = opt.minimize(tf::reduce_sum(w * w * w));
    init = tf::global_variables_initializer();
    all = tf::global_variables();
  }
  std::vector<Array> trained(const ConfigProto& config) {
    Session session(graph, config);
    session.run(init);
    for (int step = 0; step < 3; ++step) session.run(train);
    return session.run(std::vector<Fetch>(all.begin(), all.end()));
  }
  Graph graph;
  Variable w;
  Operation train, init;
  std::vector<Variable> all;
};

std::string placement_text(Session& session, const Fetch& fetch, const std::string& node) {
  for (const Placement& placement : session.placements(std::vector<Fetch>{fetch})) {
    if (placement.node != node) continue;
    return placement.given.substr(placement.given.find("/device:")) + ": " + placement.why;
  }
  return "";
}

}  // namespace

TEST_CASE("an update that the home has no kernel for runs on the host and is stored at the home") {
  OptimizedVariable program;
  missing_kernels = {"ApplyMomentum"};
  const auto expected = program.trained({.allow_soft_placement = true});
  CHECK(program.trained(with_other_accelerators(1)) == expected);
  {
    Session session(program.graph, with_other_accelerators(1));
    CHECK(placement_text(session, program.train, "w")
              .starts_with("/device:OTHER:0: its device is its home"));
    CHECK(placement_text(session, program.train, "Momentum/update_w/ApplyMomentum") ==
          "/device:CPU:0: /device:OTHER:0 has no kernel of it");
    CHECK(session.plan_report(std::vector<Fetch>{program.train})
              .find("ApplyMomentum [slices, stored at its home]") != std::string::npos);
    int stored = 0;
    for (const Transfer& transfer : session.transfers(std::vector<Fetch>{program.train})) {
      stored += transfer.to.ends_with("OTHER:0") && transfer.value.starts_with("w");
    }
    CHECK(stored == 2);  // the variable and its slot
  }
  Session strict(program.graph, with_other_accelerators(1, false));
  strict.run(program.init);
  CHECK_THROWS_WITH_AS(strict.run(program.train),
                       doctest::Contains("no supported kernel for OTHER devices"),
                       errors::InvalidArgumentError);
  CHECK_THROWS_WITH(strict.run(program.train),
                    doctest::Contains("node: Momentum/update_w/ApplyMomentum"));
  missing_kernels.clear();
  CHECK(program.trained(with_other_accelerators(1, false)) == expected);
}

TEST_CASE("an accelerator that cannot read a variable is no home") {
  OptimizedVariable program;
  missing_kernels = {"Identity"};
  Session session(program.graph, with_other_accelerators(1));
  CHECK(placement_text(session, program.train, "w") ==
        "/device:CPU:0: /device:OTHER:0 has no kernel that reads it: the host's memory is its "
        "home");
  CHECK(program.trained(with_other_accelerators(1)) ==
        program.trained({.allow_soft_placement = true}));
  Session strict(program.graph, with_other_accelerators(1, false));
  CHECK_THROWS_WITH_AS(strict.run(program.init), doctest::Contains("node: w (VariableV2)"),
                       errors::InvalidArgumentError);
  missing_kernels.clear();
  Graph graph;
  const auto guard = graph.as_default();
  const auto gpu = tf::device("/gpu:0");
  const Variable text(tf::constant("a"), {.name = "text", .home = kDevice});
  Session with_strings(graph, simulated({.count = 1}));
  with_strings.run(text.initializer());
  CHECK(with_strings.run(text).item<std::string>() == "a");
}

TEST_CASE("what is written into a variable has a shape that only the run finds") {
  Graph graph;
  const auto guard = graph.as_default();
  Variable w;
  {
    const auto gpu = tf::device("/gpu:0");
    w = tf::get_variable("w", {4, 2}, {.initializer = tf::ones_initializer(), .home = kDevice});
  }
  const Tensor mask = tf::placeholder(tf::bool_, {.shape = {3}, .name = "mask"});
  const Tensor rows = tf::boolean_mask(tf::constant({3, 1, 9}), mask);
  const Tensor added = tf::scatter_add(
      w, rows, tf::boolean_mask(tf::constant({{1.0F, 2.0F}, {3.0F, 4.0F}, {5.0F, 6.0F}}), mask));
  Tensor there;
  {
    const auto control = tf::control_dependencies({added});
    const auto gpu = tf::device("/gpu:0");
    there = w.read_value() * 1.0F;
  }
  Session session(graph, simulated({.count = 1, .latency = 0, .jitter = 50e-6}));
  session.run(w.initializer());
  const auto fed = [&](std::vector<double> chosen) {
    return Feeds{{mask, testing::array_of(bool_, {3}, chosen)}};
  };
  const std::vector<double> once{1, 1, 4, 5, 1, 1, 2, 3}, twice{1, 1, 4, 5, 1, 1, 3, 5};
  CHECK(numbers(session.run(there, fed({1, 1, 0}))) == once);
  CHECK(numbers(session.run(w)) == once);
  CHECK_THROWS_WITH_AS(session.run(added, fed({1, 0, 1})), doctest::Contains("is not in [0, 4)"),
                       errors::InvalidArgumentError);
  CHECK(numbers(session.run(w)) == once);
  CHECK(numbers(session.run(there, fed({1, 0, 0}))) == twice);
  CHECK(numbers(session.run(w)) == twice);
}

TEST_CASE("an update of variables that live in several memories") {
  Graph graph;
  const auto guard = graph.as_default();
  Variable w;
  {
    const auto gpu = tf::device("/gpu:0");
    w = tf::get_variable("w", {2}, {.initializer = tf::ones_initializer(), .home = kDevice});
  }
  const Variable slot = tf::get_variable("slot", {2}, {.initializer = tf::zeros_initializer()});
  const Tensor updated = graph
                             .add({.op = "ApplyMomentum",
                                   .name = "update",
                                   .inputs = {w.ref(), slot.ref(), tf::constant(0.5F),
                                              tf::constant({2.0F, 4.0F}), tf::constant(0.5F)},
                                   .site = Site::current()})
                             .output(0);
  Session session(graph, simulated({.count = 1}));
  session.run(tf::global_variables_initializer());
  session.run(updated);
  CHECK(numbers(session.run(w)) == std::vector<double>{0, -1});
  CHECK(numbers(session.run(slot)) == std::vector<double>{2, 4});
  CHECK(placement_text(session, updated, "update") ==
        "/device:CPU:0: it writes variables in several memories");
  Session strict(graph, {.simulated = {.count = 1}});
  CHECK_THROWS_WITH_AS(strict.run(updated), doctest::Contains("it writes variables that live on"),
                       errors::InvalidArgumentError);
}

TEST_CASE("accelerators of two kinds read one variable") {
  Graph graph;
  const auto guard = graph.as_default();
  Variable w;
  {
    const auto other = tf::device("/device:OTHER:0");
    w = tf::get_variable("w", {2}, {.initializer = tf::ones_initializer(), .home = kDevice});
  }
  Tensor before, after;
  const auto gpu = tf::device("/gpu:0");
  before = w * 10.0F;
  const Tensor added = tf::assign_add(w, before);
  {
    const auto control = tf::control_dependencies({added});
    after = w * 10.0F;
  }
  ConfigProto config = with_other_accelerators(1);
  config.simulated.count = 1;
  Session session(graph, config);
  session.run(w.initializer());
  for (const double value : {1.0, 11.0, 121.0}) {
    const auto [first, second] = session.run({before, after});
    CHECK(numbers(first) == std::vector<double>{10 * value, 10 * value});
    CHECK(numbers(second) == std::vector<double>{110 * value, 110 * value});
  }
}
