// The effect of each switch of the planner on three training steps: the pinned numbers of kernels,
// copies and waits in a step, and whether the values stay the same.
//
// After an intended change of the counts, the message of the failing check shows the new table.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <map>

#include "tests/models/steps.h"
#include "tests/ops/ran.h"
#include "towerflow/tf.h"

using namespace towerflow;
using testing::kSteps;
using testing::largest_difference;
using testing::Step;

namespace {

struct Outcome {
  PlanCounts counts;
  std::size_t copied = 0;  ///< bytes copied between memories
  double moved = 0;        ///< lower bound of the bytes that kernels read and write
  std::vector<Array> values;
};

Outcome run(Step (*make)(), bool simulated, const PassOptions& passes) {
  Graph graph;
  const auto guard = graph.as_default();
  tf::set_random_seed(11);
  const Step step = make();
  ConfigProto config{
      .device_count = {{"CPU", simulated ? 1 : 2}}, .allow_soft_placement = true, .passes = passes};
  if (simulated) config.simulated.count = 2;
  Session session(graph, config);
  session.run(tf::global_variables_initializer());
  Outcome ran;
  session.run(step.fetches, step.feeds);
  RunMetadata trace;
  ran.values =
      session.run(step.fetches, step.feeds, {.trace_level = RunOptions::FULL_TRACE}, &trace);
  for (const NodeStats& stats : trace.nodes) {
    if (stats.kind == NodeStats::Kind::kernel) ran.moved += stats.bytes;
  }
  const auto variables = tf::global_variables();
  for (Array& value : session.run(std::vector<Fetch>(variables.begin(), variables.end()))) {
    ran.values.push_back(std::move(value));
  }
  ran.counts = session.plan_counts(step.fetches, step.feeds);
  for (const Transfer& transfer : session.transfers(step.fetches, step.feeds)) {
    ran.copied += transfer.bytes;
  }
  return ran;
}

std::string counts_text(const Outcome& ran) {
  return fmt::format("{} kernels over {:.0f} bytes, {} copies of {} bytes, {} waits",
                     ran.counts.launches, ran.moved, ran.counts.copies, ran.copied,
                     ran.counts.waits);
}

const char* const kPinned = R"(
classifier on cpu:2: 26 kernels over 5560 bytes, 0 copies of 0 bytes, 2 waits
classifier on cpu:2 without fold_constants: 42 kernels over 6096 bytes, 0 copies of 0 bytes, 2 waits
classifier on cpu:2 without rewrites of layers: 30 kernels over 6248 bytes, 0 copies of 0 bytes, 2 waits
classifier on cpu:2 without rewrites of updates: 34 kernels over 6624 bytes, 0 copies of 0 bytes, 1 waits
classifier on sim:2: 32 kernels over 5560 bytes, 30 copies of 984 bytes, 46 waits
classifier on sim:2 without fold_constants: 48 kernels over 6096 bytes, 30 copies of 984 bytes, 42 waits
classifier on sim:2 without rewrites of layers: 36 kernels over 6248 bytes, 30 copies of 984 bytes, 52 waits
classifier on sim:2 without rewrites of updates: 40 kernels over 6624 bytes, 30 copies of 984 bytes, 46 waits
gan on cpu:2: 89 kernels over 163800 bytes, 0 copies of 0 bytes, 1 waits
gan on cpu:2 without drop_unread: 127 kernels over 185664 bytes, 0 copies of 0 bytes, 2 waits
gan on cpu:2 without fold_constants: 141 kernels over 167224 bytes, 0 copies of 0 bytes, 2 waits
gan on cpu:2 without rewrites of elementwise: 113 kernels over 172648 bytes, 0 copies of 0 bytes, 1 waits
gan on cpu:2 without rewrites of layers: 95 kernels over 184352 bytes, 0 copies of 0 bytes, 1 waits
gan on cpu:2 without rewrites of updates: 105 kernels over 168232 bytes, 0 copies of 0 bytes, 1 waits
gan on cpu:2 without share_subexpressions: 91 kernels over 163864 bytes, 0 copies of 0 bytes, 1 waits
gan on sim:2: 95 kernels over 163800 bytes, 54 copies of 7016 bytes, 64 waits
gan on sim:2 without drop_unread: 133 kernels over 185664 bytes, 54 copies of 7016 bytes, 66 waits
gan on sim:2 without fold_constants: 147 kernels over 167224 bytes, 66 copies of 9160 bytes, 88 waits
gan on sim:2 without rewrites of elementwise: 119 kernels over 172648 bytes, 54 copies of 7016 bytes, 66 waits
gan on sim:2 without rewrites of layers: 101 kernels over 184352 bytes, 54 copies of 7016 bytes, 72 waits
gan on sim:2 without rewrites of updates: 111 kernels over 168232 bytes, 54 copies of 7016 bytes, 76 waits
gan on sim:2 without share_subexpressions: 97 kernels over 163864 bytes, 54 copies of 7016 bytes, 62 waits
mnist on cpu:2: 59 kernels over 152375012 bytes, 0 copies of 0 bytes, 2 waits
mnist on cpu:2 without fold_constants: 67 kernels over 152375772 bytes, 0 copies of 0 bytes, 2 waits
mnist on cpu:2 without rewrites of layers: 81 kernels over 159977380 bytes, 0 copies of 0 bytes, 2 waits
mnist on cpu:2 without rewrites of updates: 79 kernels over 230968948 bytes, 0 copies of 0 bytes, 1 waits
mnist on sim:2: 61 kernels over 152375012 bytes, 66 copies of 52421032 bytes, 82 waits
mnist on sim:2 without fold_constants: 69 kernels over 152375772 bytes, 66 copies of 52421032 bytes, 84 waits
mnist on sim:2 without rewrites of layers: 83 kernels over 159977380 bytes, 66 copies of 52421032 bytes, 94 waits
mnist on sim:2 without rewrites of updates: 81 kernels over 230968948 bytes, 66 copies of 52421032 bytes, 90 waits
)";

}  // namespace

TEST_CASE("three steps, each switch off in turn: pinned counts, and the same values") {
  std::string found = "\n";
  for (const auto& [name, make] : kSteps) {
    for (const bool simulated : {false, true}) {
      const std::string where = name + (simulated ? " on sim:2" : " on cpu:2");
      const Outcome all = run(make, simulated, {});
      found += fmt::format("{}: {}\n", where, counts_text(all));
      for (const auto& [name_of_pass, switch_off] : testing::pass_switches()) {
        const std::string pass = name_of_pass;
        CAPTURE(where);
        CAPTURE(pass);
        PassOptions passes;
        switch_off(passes);
        const Outcome without = run(make, simulated, passes);
        if (counts_text(without) != counts_text(all)) {
          found += fmt::format("{} without {}: {}\n", where, pass, counts_text(without));
        }
        if (pass == "rewrites of layers" || pass == "choose_winograd") {
          CHECK(largest_difference(without.values, all.values) < 1e-5);
        } else {
          CHECK(without.values == all.values);
        }
        if (pass == "reuse_buffers") {
          CHECK(without.counts.arena_bytes > all.counts.arena_bytes);
        }
      }
    }
  }
  CHECK(found == kPinned);
}
