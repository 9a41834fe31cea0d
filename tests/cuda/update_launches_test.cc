// Updates of variables on GPUs: those that follow each other are one launch, unless one reads or
// writes what another writes.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "cuda/backend/pending_updates.h"
#include "tests/cuda/recording.h"
#include "tests/models/steps.h"
#include "towerflow/tf.h"

using namespace towerflow;
using cuda::PendingUpdates;
using cuda::VariableUpdate;

namespace {

tf::Variable on_gpu(const std::string& name, const Array& value) {
  return tf::Variable(tf::constant(value), {.name = name, .home = VariableHome::device});
}

struct Ran {
  std::vector<Array> variables;
  std::vector<std::size_t> launches;  ///< of the kernel, in each run
};

/// Runs what `make` adds to a graph three times, and counts the launches of a kernel.
Ran run_steps(int gpus, bool graphs, Operation (*make)(), const std::string& kernel) {
  Graph graph;
  const auto guard = graph.as_default();
  const auto device = tf::device("/gpu:0");
  const Operation step = make();
  const auto layer = std::make_shared<testing::Recording>();
  const testing::ScopedLayer scope(layer);
  ConfigProto config{.allow_soft_placement = true};
  config.cuda = {.count = gpus, .graphs = graphs, .emulated = true};
  Session session(graph, config);
  session.run(tf::global_variables_initializer());
  Ran ran;
  for (int i = 0; i < 3; ++i) {
    if (gpus > 0) layer->recorder().clear();
    session.run(step);
    if (gpus == 0) continue;
    const auto calls = layer->recorder().calls();
    ran.launches.push_back(static_cast<std::size_t>(
        std::count_if(calls.begin(), calls.end(), [&](const std::string& call) {
          return call.starts_with("cudaLaunchKernelExC") && call.find(kernel) != std::string::npos;
        })));
  }
  const auto variables = tf::global_variables();
  ran.variables = session.run(std::vector<Fetch>(variables.begin(), variables.end()));
  return ran;
}

/// More variables than a launch takes, of sizes that fill no block, one block and several.
Operation fifty_variables() {
  std::vector<Tensor> losses;
  for (std::int64_t i = 0; i < 50; ++i) {
    const std::int64_t size = i % 10 == 9 ? 9000 + i : 1 + i;
    const tf::Variable variable = on_gpu("v" + std::to_string(i), testing::ramp({size}));
    losses.push_back(tf::reduce_sum(tf::square(variable)));
  }
  return tf::train::MomentumOptimizer(0.1, 0.9).minimize(tf::add_n(losses));
}

/// Each update reads or writes what the one before it has written.
Operation dependent_variables() {
  const tf::Variable a = on_gpu("a", testing::ramp({100}));
  const tf::Variable b = on_gpu("b", testing::ramp({100}));
  tf::train::GradientDescentOptimizer optimizer(tf::constant(0.5F));
  Operation last = optimizer.apply_gradients({{tf::constant(testing::ramp({100})), a}});
  for (const auto& [from, to] : {std::pair{a, b}, std::pair{b, a}, std::pair{b, a}}) {
    const auto after = tf::control_dependencies({last});
    last = optimizer.apply_gradients({{from.read_value(), to}});
  }
  return last;
}

}  // namespace

TEST_SUITE("launches of updates") {
  TEST_CASE("variables of one rule are updated by one launch, or as few as can take them") {
    const Ran on_cpu = run_steps(0, false, fifty_variables, "");
    const Ran graphs = run_steps(1, true, fifty_variables, "Momentum_float32");
    CHECK(graphs.variables == on_cpu.variables);
    // A graph is captured in the second run; the third launches it.
    CHECK(graphs.launches == std::vector<std::size_t>{2, 2, 0});
    const Ran single = run_steps(1, false, fifty_variables, "Momentum_float32");
    CHECK(single.variables == on_cpu.variables);
    CHECK(single.launches == std::vector<std::size_t>(3, 50));
  }

  TEST_CASE("updates that depend on each other are made in their order") {
    const Ran on_cpu = run_steps(0, false, dependent_variables, "");
    const Ran graphs = run_steps(1, true, dependent_variables, "GradientDescent_float32");
    CHECK(graphs.variables == on_cpu.variables);
    CHECK(graphs.launches.front() == 4);
  }

  TEST_CASE("what cannot be one launch") {
    constexpr std::int64_t kElements = 8;
    float memory[8][kElements];  // variable, slot and gradient of two updates; two scalars
    cuda::device::DataError record;
    const auto update = [&](int variable, int slot, int gradient, int scalar) {
      VariableUpdate made{.element_size = sizeof(float)};
      made.variable.variable = memory[variable];
      made.variable.slots[0] = memory[slot];
      made.variable.gradient = memory[gradient];
      made.variable.elements = kElements;
      made.scalars[0] = memory[scalar];
      return made;
    };
    const auto fits = [&](const VariableUpdate& second) {
      PendingUpdates pending;
      pending.add(update(0, 1, 2, 6));
      return pending.can_take(second);
    };
    CHECK(fits(update(3, 4, 5, 6)));
    CHECK(fits(update(3, 4, 2, 6)));        // both read one gradient
    CHECK_FALSE(fits(update(3, 4, 5, 7)));  // another scalar
    CHECK_FALSE(fits(update(0, 4, 5, 6)));  // the same variable
    CHECK_FALSE(fits(update(3, 1, 5, 6)));  // the same slot
    CHECK_FALSE(fits(update(3, 4, 0, 6)));  // its gradient is written
    CHECK_FALSE(fits(update(3, 4, 1, 6)));
    CHECK_FALSE(fits(update(2, 4, 5, 6)));  // it writes the other's gradient
    CHECK_FALSE(fits(update(3, 2, 5, 6)));
    CHECK_FALSE(fits(update(6, 4, 5, 6)));  // it writes the scalar
    VariableUpdate other = update(3, 4, 5, 6);
    other.unless = &record;
    CHECK_FALSE(fits(other));
    other = update(3, 4, 5, 6);
    other.variable.variable = &memory[2][kElements - 1];  // overlaps the other's gradient
    CHECK_FALSE(fits(other));

    PendingUpdates writes_its_scalar;
    writes_its_scalar.add(update(6, 1, 2, 6));
    CHECK_FALSE(writes_its_scalar.can_take(update(3, 4, 5, 6)));
  }
}
