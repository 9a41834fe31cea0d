// MNIST on towers: the kind of the devices changes the timing, but no bit of the results.
#include <doctest/doctest.h>

#include "models/mnist.h"
#include "models/training.h"
#include "towerflow/tf.h"

using namespace towerflow;

namespace {

struct Trained {
  std::vector<Array> variables;
  std::vector<Array> losses;
  RunMetadata last;
};

/// Trains two towers for three steps on batches of 4 that are stored in variables.
Trained train_on_devices(const models::DeviceOptions& devices) {
  Graph graph;
  const auto guard = graph.as_default();
  tf::set_random_seed(7);
  const auto towers = models::mnist::build_towers({.num_towers = 2}, [] {
    const auto cpu = tf::device("/cpu:0");
    const Tensor pixels = tf::random_uniform({4, 784}, {.minval = -0.5, .maxval = 0.5, .seed = 3});
    const tf::Variable images(pixels, {.trainable = false, .name = "images"});
    const tf::Variable labels(tf::constant({3, 1, 4, 1}), {.trainable = false, .name = "labels"});
    return models::Batch{images, labels};
  });
  Session session(graph, models::session_config(2, devices));
  session.run(towers.init);
  std::vector<Fetch> fetches{towers.train_op};
  fetches.insert(fetches.end(), towers.losses.begin(), towers.losses.end());
  Trained trained;
  for (int step = 0; step < 3; ++step) {
    trained.losses =
        session.run(fetches, {}, {.trace_level = RunOptions::FULL_TRACE}, &trained.last);
  }
  trained.losses.erase(trained.losses.begin());
  const auto variables = tf::global_variables();
  trained.variables = session.run(std::vector<Fetch>(variables.begin(), variables.end()));
  return trained;
}

}  // namespace

TEST_CASE("mnist: two simulated accelerators give the bits of two logical CPUs and of one") {
  const Trained cpus = train_on_devices({.cpus = 2});
  const Trained one = train_on_devices({.cpus = 1});
  const Trained simulated = train_on_devices({.simulated = {.count = 2, .jitter = 100e-6}});
  CHECK(cpus.variables == one.variables);
  CHECK(cpus.losses == one.losses);
  CHECK(cpus.variables == simulated.variables);
  CHECK(cpus.losses == simulated.losses);
}

TEST_CASE("mnist: the first gradient leaves before half of backward has run") {
  const RunMetadata step = train_on_devices({.simulated = {.count = 2}}).last;
  CHECK(step.simulated);
  CHECK(step.virtual_seconds > 0);
  for (const char* device : {"SIM:0", "SIM:1"}) {
    double leaves = 1e9, before = 0, all = 0;
    const auto is_here = [&](const NodeStats& stats) {
      return stats.device.find(device) != std::string::npos &&
             stats.node.find("gradients") != std::string::npos;
    };
    for (const NodeStats& stats : step.nodes) {
      if (is_here(stats) && stats.lane == Lane::download && stats.kind == NodeStats::Kind::copy) {
        leaves = std::min(leaves, stats.virtual_begin);
      }
    }
    for (const NodeStats& stats : step.nodes) {
      if (!is_here(stats) || stats.kind != NodeStats::Kind::kernel) continue;
      all += stats.virtual_end - stats.virtual_begin;
      if (stats.virtual_end <= leaves) before += stats.virtual_end - stats.virtual_begin;
    }
    CAPTURE(device);
    CHECK(all > 0);
    CHECK(before < 0.5 * all);
  }
  CHECK(step.chrome_trace().find("SIM:1 (virtual time), download") != std::string::npos);
}
