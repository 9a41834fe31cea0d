// Traces of runs with loops, and the table of their times.
#include <doctest/doctest.h>

#include <algorithm>

#include "report/step_report.h"
#include "towerflow/tf.h"

namespace towerflow::report {
namespace {

constexpr int kIterations = 7;

double seconds_of(const NodeStats& stats) { return stats.end - stats.begin; }

TEST_CASE("a trace has what each iteration of a loop ran") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor fed = placeholder(float32, {.name = "fed"});
  const auto [count, end] = while_loop([](Tensor k, Tensor) { return k < kIterations; },
                                       [](Tensor k, Tensor x) {
                                         return std::tuple{k + 1, tanh(x, {.name = "inside"})};
                                       },
                                       std::tuple{0, fed}, {.name = "walk"});
  const Tensor after = sigmoid(end, {.name = "after"});
  Session session(graph);
  const Fetch fetch = after;
  const Feeds feeds{{fed, Array::zeros(float32, Shape{256, 64})}};
  RunMetadata metadata;
  session.run({&fetch, 1}, feeds, {.trace_level = RunOptions::FULL_TRACE}, &metadata);

  const auto loop = std::find_if(metadata.nodes.begin(), metadata.nodes.end(),
                                 [](const NodeStats& stats) { return stats.op == "_While"; });
  REQUIRE(loop != metadata.nodes.end());
  CHECK(loop->loop == "");
  int inside = 0;
  double seconds = 0, last = loop->begin;
  for (const NodeStats& stats : metadata.nodes) {
    if (stats.loop.empty()) {
      CHECK(stats.op != "Tanh");
      continue;
    }
    CHECK(stats.loop == loop->node);
    CHECK(stats.begin >= last);
    last = stats.end;
    seconds += seconds_of(stats);
    if (stats.op == "Tanh") ++inside;
  }
  CHECK(last <= loop->end);
  CHECK(inside == kIterations);
  CHECK(seconds > 0);
  CHECK(seconds < seconds_of(*loop));
  CHECK(metadata.chrome_trace().find("\"node\": \"walk/inside\"") != std::string::npos);
}

NodeStats kernel(const char* op, const char* node, const char* loop, double begin, double end) {
  return {.node = node,
          .op = op,
          .loop = loop,
          .device = "CPU:0",
          .begin = begin,
          .end = end,
          .bytes = 1e6};
}

TEST_CASE("a table has the kernels of loops in their rows, and a loop without them") {
  const std::vector<RunMetadata> steps{
      {.nodes = {kernel("_While", "outer", "", 0.1, 0.9), kernel("Tanh", "a", "outer", 0.2, 0.3),
                 kernel("_While", "inner", "outer", 0.3, 0.7),
                 kernel("Tanh", "b", "inner", 0.3, 0.5), kernel("Tanh", "b", "inner", 0.5, 0.6)},
       .seconds = 1}};
  const std::string table = step_table(steps);
  const auto row = [&](const std::string& name) {
    const std::size_t at = table.find("  " + name);
    REQUIRE(at != std::string::npos);
    return table.substr(at, table.find('\n', at) - at);
  };
  CAPTURE(table);
  CHECK(row("Tanh").find("    3  400000.0   40.0 %") != std::string::npos);
  CHECK(row("_While").find("    2  400000.0   40.0 %") != std::string::npos);
  CHECK(row("beginning and end").find("200000.0   20.0 %") != std::string::npos);
  CHECK(row("unattributed").find(" 0.0    0.0 %") != std::string::npos);
  // The floor counts the bytes of the kernels, not those of loops.
  CHECK(step_floor(steps[0], {}, 2, 1e9) == doctest::Approx(3e-3));
  CHECK(step_timeline(steps[0], 10).find("80 % busy") != std::string::npos);
}

}  // namespace
}  // namespace towerflow::report
