#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "models/global_step.h"
#include "models/models.h"
#include "tests/models/steps.h"
#include "towerflow/tf.h"

namespace towerflow::testing {

/// A model that is small enough for the emulation.
struct SmallModel {
  const models::Model* model;
  std::int64_t tower_batch;
  models::OptionValues values{};
  std::vector<std::string> kernels{};  ///< some that run on the GPU
};

/// All but Inception v3, whose images are too large.
inline const std::vector<SmallModel>& small_models() {
  static const std::vector<SmallModel> all{
      {&models::mnist::kModel, 2, {}, {"MaxPool ", "SparseSoftmaxCrossEntropyWithLogits "}},
      {&models::cifar10::kModel, 2, {}, {"LRN ", "LRNGrad "}},
      {&models::resnet20::kModel,
       2,
       {{"depth", std::int64_t{8}}},
       {"FusedBatchNormV3 ", "FusedBatchNormGradV3 "}},
      {&models::batch_norm::kModel, 2, {}, {}},
      {&models::three_stage_gan::kModel, 4, {}, {}},
      {&models::multi_gpu_model::kModel, 2, {}, {}},
      {&models::vaegan::kModel, 2, {}, {}},
      {&models::char_lstm::kModel, 1, {{"rnn-size", std::int64_t{4}}}, {}}};
  return all;
}

/// Returns what two steps of `towers` towers fetch, and the variables after them. `report` receives
/// the plan.
inline std::vector<Array> two_steps(const SmallModel& small, int towers, const CudaDevices& cuda,
                                    std::string* report = nullptr,
                                    Start start = Start::as_initialized) {
  models::GlobalStep step(*small.model, {.num_towers = towers,
                                         .batch_size = towers * small.tower_batch,
                                         .values = small.values,
                                         .devices = {.cuda = cuda}});
  const auto guard = step.graph().as_default();
  const ComparedRun run = step.run();
  Session session(step.graph(), run.config);
  session.run(tf::global_variables_initializer());
  session.run(tf::local_variables_initializer());
  if (start == Start::rounded) round_variables(session);
  std::vector<Array> values;
  const auto add = [&](const std::vector<Fetch>& fetches, const Feeds& feeds) {
    for (Array& value : session.run(fetches, feeds)) values.push_back(std::move(value));
  };
  for (const int number : {1, 2}) add(run.step, run.feeds ? run.feeds(number) : Feeds{});
  const auto variables = tf::global_variables();
  add({variables.begin(), variables.end()}, {});
  if (report != nullptr) {
    *report = session.plan_report(run.step, run.feeds ? run.feeds(1) : Feeds{});
  }
  return values;
}

}  // namespace towerflow::testing
