// The effect of each switch of the planner on three training steps: the pinned numbers of kernels,
// copies and waits in a step, and whether the values stay the same.
//
// After an intended change of the counts, the message of the failing check shows the new table.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <map>
#include <regex>

#include "ops/simd/loops.h"
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
classifier on cpu:2: 27 kernels over 1745160 bytes, 0 copies of 0 bytes, 2 waits
classifier on cpu:2 without fold_constants: 43 kernels over 1746368 bytes, 0 copies of 0 bytes, 2 waits
classifier on cpu:2 without rewrites of layers: 31 kernels over 1747720 bytes, 0 copies of 0 bytes, 2 waits
classifier on cpu:2 without rewrites of updates: 35 kernels over 2966552 bytes, 0 copies of 0 bytes, 1 waits
classifier on sim:2: 33 kernels over 1745160 bytes, 30 copies of 851928 bytes, 46 waits
classifier on sim:2 without fold_constants: 49 kernels over 1746368 bytes, 30 copies of 851928 bytes, 44 waits
classifier on sim:2 without rewrites of layers: 37 kernels over 1747720 bytes, 30 copies of 851928 bytes, 50 waits
classifier on sim:2 without rewrites of updates: 41 kernels over 2966552 bytes, 30 copies of 851928 bytes, 48 waits
gan on cpu:2: 307 kernels over 74913008 bytes, 0 copies of 0 bytes, 3 waits
gan on cpu:2 without drop_unread: 379 kernels over 76414488 bytes, 0 copies of 0 bytes, 3 waits
gan on cpu:2 without fold_constants: 399 kernels over 75065936 bytes, 0 copies of 0 bytes, 3 waits
gan on cpu:2 without rewrites of elementwise: 355 kernels over 77473312 bytes, 0 copies of 0 bytes, 3 waits
gan on cpu:2 without rewrites of layers: 311 kernels over 74913152 bytes, 0 copies of 0 bytes, 3 waits
gan on cpu:2 without rewrites of updates: 351 kernels over 87724240 bytes, 0 copies of 0 bytes, 2 waits
gan on cpu:2 without share_subexpressions: 313 kernels over 74913232 bytes, 0 copies of 0 bytes, 3 waits
gan on sim:2: 313 kernels over 74913008 bytes, 138 copies of 8590888 bytes, 192 waits
gan on sim:2 without drop_unread: 385 kernels over 76414488 bytes, 138 copies of 8590888 bytes, 190 waits
gan on sim:2 without fold_constants: 405 kernels over 75065936 bytes, 156 copies of 8616152 bytes, 224 waits
gan on sim:2 without rewrites of elementwise: 361 kernels over 77473312 bytes, 138 copies of 8590888 bytes, 192 waits
gan on sim:2 without rewrites of layers: 317 kernels over 74913152 bytes, 138 copies of 8590888 bytes, 210 waits
gan on sim:2 without rewrites of updates: 357 kernels over 87724240 bytes, 138 copies of 8590888 bytes, 218 waits
gan on sim:2 without share_subexpressions: 319 kernels over 74913232 bytes, 138 copies of 8590888 bytes, 192 waits
mnist on cpu:2: 59 kernels over 152375012 bytes, 0 copies of 0 bytes, 3 waits
mnist on cpu:2 without fold_constants: 67 kernels over 152375772 bytes, 0 copies of 0 bytes, 3 waits
mnist on cpu:2 without rewrites of layers: 81 kernels over 159977380 bytes, 0 copies of 0 bytes, 3 waits
mnist on cpu:2 without rewrites of updates: 79 kernels over 230968948 bytes, 0 copies of 0 bytes, 1 waits
mnist on sim:2: 61 kernels over 152375012 bytes, 66 copies of 52421032 bytes, 82 waits
mnist on sim:2 without fold_constants: 69 kernels over 152375772 bytes, 66 copies of 52421032 bytes, 82 waits
mnist on sim:2 without rewrites of layers: 83 kernels over 159977380 bytes, 66 copies of 52421032 bytes, 92 waits
mnist on sim:2 without rewrites of updates: 81 kernels over 230968948 bytes, 66 copies of 52421032 bytes, 92 waits
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
  // A change of variables waits for kernels that may fail. A convolution may fail if oneDNN
  // allocates memory for it. Whether it does depends on the processor, and so does the number of
  // waits.
  const bool pins_waits = simd::loops_of(simd::Level::v4) != nullptr;
  const auto counts = [&](const std::string& lines) {
    return pins_waits ? lines : std::regex_replace(lines, std::regex(", [0-9]+ waits"), "");
  };
  CHECK(counts(found) == counts(kPinned));
}
