// What each switch of the planner is worth, pinned for three training steps: kernels, copies and
// waits in a step, and whether its values stay as they are.
//
// After a change that is meant to change the counts, the message of the failing check shows the new
// table.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <map>

#include "models/collected_towers.h"
#include "models/mnist.h"
#include "models/three_stage_gan.h"
#include "models/training.h"
#include "tests/ops/ran.h"
#include "tests/support/eager.h"
#include "towerflow/tf.h"

using namespace towerflow;

namespace {

Array ramp(const Shape& shape) {
  Array array(float32, shape);
  for (std::int64_t i = 0; i < array.elements(); ++i) {
    array.data<float>()[i] = static_cast<float>((i * 37) % 101) / 101.0F;
  }
  return array;
}

/// A training step in the default graph.
struct Step {
  std::vector<Fetch> fetches;
  Feeds feeds;
};

Step mnist_step() {
  const auto towers = models::mnist::build_towers({.num_towers = 2}, [] {
    const auto cpu = tf::device("/cpu:0");
    const tf::Variable images(tf::constant(ramp({4, 784})), {.trainable = false, .name = "images"});
    const tf::Variable labels(tf::constant({3, 1, 4, 1}), {.trainable = false, .name = "labels"});
    return models::Batch{images, labels};
  });
  return {{towers.train_op, towers.losses[0], towers.losses[1]}, {}};
}

Step gan_step() {
  const auto towers = models::three_stage_gan::build_towers({.num_gpus = 2});
  Step step{{towers.full.train_op}, {}};
  for (const auto& tower : towers.towers) {
    step.fetches.emplace_back(tower.losses.full);
    step.feeds.emplace_back(tower.images, ramp({4, 8, 8, 1}));
    step.feeds.emplace_back(tower.mask, Array::zeros(float32, {4, 8, 8, 1}));
  }
  return step;
}

Step classifier_step() {
  const auto program = models::collected_towers::build({.num_gpus = 2});
  Step step{{program.train_op}, {}};
  for (const auto& model : tf::get_collection<models::collected_towers::Model>("train_model")) {
    step.fetches.emplace_back(model.loss);
    step.feeds.emplace_back(model.x, ramp({6, 4}));
    step.feeds.emplace_back(model.y, testing::array_of(int64, {6}, {0, 1, 2, 0, 1, 2}));
  }
  return step;
}

const std::map<std::string, Step (*)()> kSteps = {
    {"classifier", classifier_step}, {"gan", gan_step}, {"mnist", mnist_step}};

struct Outcome {
  PlanCounts counts;
  std::size_t copied = 0;  ///< bytes that cross between memories
  double moved = 0;        ///< bytes that kernels read and write at least
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

double largest_difference(const std::vector<Array>& a, const std::vector<Array>& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].empty() || a[i].dtype() != float32) continue;
    for (std::int64_t k = 0; k < a[i].elements(); ++k) {
      const double x = a[i].data<float>()[k], y = b[i].data<float>()[k];
      largest = std::max(largest, std::abs(x - y) / std::max(1.0, std::abs(y)));
    }
  }
  return largest;
}

const char* const kPinned = R"(
classifier on cpu:2: 30 kernels over 6360 bytes, 0 copies of 0 bytes, 2 waits
classifier on cpu:2 without fold_constants: 48 kernels over 7248 bytes, 0 copies of 0 bytes, 2 waits
classifier on cpu:2 without fuse_convolutions: 34 kernels over 7048 bytes, 0 copies of 0 bytes, 2 waits
classifier on cpu:2 without fuse_updates: 38 kernels over 7424 bytes, 0 copies of 0 bytes, 1 waits
classifier on sim:2: 30 kernels over 6360 bytes, 30 copies of 984 bytes, 40 waits
classifier on sim:2 without fold_constants: 48 kernels over 7248 bytes, 30 copies of 984 bytes, 40 waits
classifier on sim:2 without fuse_convolutions: 34 kernels over 7048 bytes, 30 copies of 984 bytes, 46 waits
classifier on sim:2 without fuse_updates: 38 kernels over 7424 bytes, 30 copies of 984 bytes, 40 waits
gan on cpu:2: 95 kernels over 164024 bytes, 0 copies of 0 bytes, 1 waits
gan on cpu:2 without drop_unread: 137 kernels over 186032 bytes, 0 copies of 0 bytes, 1 waits
gan on cpu:2 without fold_constants: 153 kernels over 167680 bytes, 0 copies of 0 bytes, 2 waits
gan on cpu:2 without fuse_convolutions: 101 kernels over 184576 bytes, 0 copies of 0 bytes, 1 waits
gan on cpu:2 without fuse_elementwise: 121 kernels over 172968 bytes, 0 copies of 0 bytes, 1 waits
gan on cpu:2 without fuse_updates: 111 kernels over 168456 bytes, 0 copies of 0 bytes, 1 waits
gan on sim:2: 95 kernels over 164024 bytes, 54 copies of 7016 bytes, 56 waits
gan on sim:2 without drop_unread: 137 kernels over 186032 bytes, 54 copies of 7016 bytes, 58 waits
gan on sim:2 without fold_constants: 153 kernels over 167680 bytes, 66 copies of 9160 bytes, 84 waits
gan on sim:2 without fuse_convolutions: 101 kernels over 184576 bytes, 54 copies of 7016 bytes, 64 waits
gan on sim:2 without fuse_elementwise: 121 kernels over 172968 bytes, 54 copies of 7016 bytes, 60 waits
gan on sim:2 without fuse_updates: 111 kernels over 168456 bytes, 54 copies of 7016 bytes, 70 waits
mnist on cpu:2: 59 kernels over 152375012 bytes, 0 copies of 0 bytes, 2 waits
mnist on cpu:2 without fold_constants: 67 kernels over 152375772 bytes, 0 copies of 0 bytes, 2 waits
mnist on cpu:2 without fuse_convolutions: 81 kernels over 159977380 bytes, 0 copies of 0 bytes, 2 waits
mnist on cpu:2 without fuse_updates: 79 kernels over 230968948 bytes, 0 copies of 0 bytes, 1 waits
mnist on sim:2: 59 kernels over 152375012 bytes, 66 copies of 52421032 bytes, 80 waits
mnist on sim:2 without fold_constants: 67 kernels over 152375772 bytes, 66 copies of 52421032 bytes, 82 waits
mnist on sim:2 without fuse_convolutions: 81 kernels over 159977380 bytes, 66 copies of 52421032 bytes, 92 waits
mnist on sim:2 without fuse_updates: 79 kernels over 230968948 bytes, 66 copies of 52421032 bytes, 88 waits
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
