// Loops of towers on several CPUs run side by side.
#include <doctest/doctest.h>

#include "tests/support/eager.h"
#include "towerflow/tf.h"

using namespace towerflow;

namespace {

/// A loop on a CPU, of which the first one computes the initial value, as it does for the rows of
/// an embedding.
Tensor looped(const std::string& cpu, const Tensor& weights) {
  const auto on = tf::device(cpu);
  Tensor first;
  {
    const auto beside = tf::device("/cpu:0");
    first = tf::reduce_sum(weights, 0, {.name = "first"});
  }
  const auto [count, last] = tf::while_loop(
      [](const Tensor& i, const Tensor&) { return i < 5; },
      [&](const Tensor& i, const Tensor& x) { return std::tuple(i + 1, tf::tanh(x) * 0.5F); },
      std::tuple(tf::constant(0), first));
  return tf::reduce_sum(last);
}

const NodeStats& stats_of(const RunMetadata& step, const std::string& op, const std::string& node) {
  for (const NodeStats& stats : step.nodes) {
    if (stats.op == op && stats.node == node) return stats;
  }
  FAIL("there is no " << op << " " << node);
  return step.nodes.front();
}

}  // namespace

TEST_CASE("loops run on the CPUs that they ask for, and do not wait for each other") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor weights = tf::placeholder(tf::float32, {.shape = {300, 200}});
  const std::vector<Fetch> fetches{looped("/cpu:0", weights), looped("/cpu:1", weights)};
  Array value(tf::float32, {300, 200});
  for (int i = 0; i < 60000; ++i) value.data<float>()[i] = static_cast<float>(i % 13);
  Session session(graph, {.device_count = {{"CPU", 2}}});
  RunMetadata step;
  const auto found =
      session.run(fetches, {{weights, value}}, {.trace_level = RunOptions::FULL_TRACE}, &step);
  CHECK(found[0] == found[1]);
  CHECK(stats_of(step, "_While", "while/LoopCond").device.ends_with("CPU:0"));
  CHECK(stats_of(step, "_While", "while_1/LoopCond").device.ends_with("CPU:1"));
  // The first CPU computes what the second waits for before it begins a loop of its own.
  CHECK(stats_of(step, "Sum", "first_1").end <= stats_of(step, "_While", "while/LoopCond").begin);

  // On an accelerator the host runs the loop, which reads its condition.
  Session simulated(graph, {.allow_soft_placement = true, .simulated = {.count = 1}});
  simulated.run(fetches, {{weights, value}}, {.trace_level = RunOptions::FULL_TRACE}, &step);
  CHECK(stats_of(step, "_While", "while_1/LoopCond").device.ends_with("CPU:0"));
}
