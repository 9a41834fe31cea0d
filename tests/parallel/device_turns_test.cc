// More towers than devices: on any number of devices they compute the same bits.
#include "parallel/device_turns.h"

#include <doctest/doctest.h>

#include "report/compare.h"
#include "towerflow/tf.h"

using namespace towerflow;

namespace {

/// Eight towers with batch normalization and dropout, on accelerators in turn.
struct EightTowers {
  EightTowers(int accelerators, const ConfigProto& config) {
    const auto default_graph = graph.as_default();
    tf::set_random_seed(2);
    const auto turns = tf::device(parallel::devices_in_turn(accelerators));
    tf::train::MomentumOptimizer opt(0.1, 0.9);
    const parallel::Towers towers(
        opt,
        [](int, const std::string&) {
          const Tensor x = tf::random_uniform({5, 1, 1, 8});
          const Tensor normal = tf::slim::batch_norm(x, {.is_training = true, .scope = "bn"});
          const Tensor y = tf::matmul(tf::reshape(normal, {5, 8}), tf::get_variable("w", {8, 6}));
          return tf::reduce_mean(tf::square(tf::nn::dropout(y, 0.5)));
        },
        {.num_towers = 8});
    last_device = towers.losses.back().device();
    run = {.step = {towers.train_op}, .config = config, .num_towers = 8};
    run.config.allow_soft_placement = true;
    run.step.insert(run.step.end(), towers.losses.begin(), towers.losses.end());
  }

  Graph graph;
  std::string last_device;
  ComparedRun run;
};

}  // namespace

TEST_CASE("towers take devices in turn") {
  Graph graph;
  const auto default_graph = graph.as_default();
  const auto turns = tf::device(parallel::devices_in_turn(2));
  const auto on = [](const char* asked) {
    const auto device = tf::device(asked);
    return tf::constant(1.0F).device();
  };
  CHECK(on("/gpu:0") == "/device:GPU:0");
  CHECK(on("/gpu:1") == "/device:GPU:1");
  CHECK(on("/gpu:5") == "/device:GPU:1");
  CHECK(on("/job:localhost/gpu:2") == "/job:localhost/device:GPU:0");
  CHECK(on("/cpu:5") == "/device:CPU:5");
  CHECK_THROWS_AS(parallel::devices_in_turn(0), ValueError);
}

TEST_CASE("eight towers give the same bits on 1, 2, 4 and 8 devices") {
  EightTowers one(8, {.device_count = {{"CPU", 1}}});
  CHECK(one.last_device == "/device:GPU:7");
  for (const int devices : {2, 4, 8}) {
    CAPTURE(devices);
    EightTowers cpus(8, {.device_count = {{"CPU", devices}}});
    CHECK(compare(one.run, cpus.run, {.steps = 3}).text() ==
          "All equal, bit for bit, over 3 steps: 6 variables and 8 fetched tensors.\n");
    EightTowers simulated(devices, {.simulated = {.count = devices, .latency = 0}});
    CHECK(simulated.last_device == "/device:GPU:" + std::to_string(devices - 1));
    const Comparison found = compare(one.run, simulated.run, {.steps = 3});
    CAPTURE(found.text());
    CHECK(found.equal());
    const auto placed =
        Session(simulated.graph, simulated.run.config).placements(simulated.run.step);
    for (const Placement& placement : placed) {
      if (placement.op == "MatMul") CHECK(placement.given.find("SIM") != std::string::npos);
    }
  }
}
