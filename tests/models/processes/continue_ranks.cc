// Trains a model under mpirun, in a folder from which the same command goes on: `continue_ranks
// MODEL DATA FOLDER STEPS [stop|kill STEP]`. MODEL is `small`, which has dropout, or `vaegan`. With
// `stop`, the last process asks for an end after a step; with `kill`, a signal ends it. A
// checkpoint is written every 4 steps and at the end.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "models/models.h"
#include "models/training.h"
#include "models/vaegan/vaegan.h"
#include "parallel/processes/group.h"
#include "towerflow/tf.h"

using namespace towerflow;

namespace {

models::TrainingGraph build(const models::BuildOptions& options,
                            const models::InputFunction& input) {
  const auto next_batch = input();
  const Variable steps = tf::get_variable(
      "global_step", Shape{}, {.initializer = tf::constant_initializer(0), .trainable = false});
  const models::Batch batch = next_batch();
  const std::int64_t pixels = batch.features.get_shape()[1];
  const Variable w = tf::get_variable("w", {pixels, 10});
  const Tensor logits = tf::matmul(tf::nn::dropout(batch.features, 0.5), w);
  const Tensor loss = tf::reduce_mean(
      tf::nn::sparse_softmax_cross_entropy_with_logits({.labels = batch.labels, .logits = logits}));
  tf::train::MomentumOptimizer optimizer(options.learning_rate, 0.9);
  const auto grads = optimizer.compute_gradients(loss);
  const Operation train_op = optimizer.apply_gradients(grads, {.global_step = steps});
  return {steps, {{train_op, {loss}}}, grads, {}};
}

models::Model model_named(const std::string& name) {
  if (name == "vaegan") return models::vaegan::kModel;
  models::Model model = models::mnist::kModel;
  model.build = build;
  model.stages = {{}};
  model.options = {};
  return model;
}

void train_model(int argc, char** argv) {
  const models::Model model = model_named(argv[1]);
  const auto& group = parallel::process_group();
  const std::string ends = argc > 5 ? argv[5] : "";
  const std::int64_t last = argc > 6 ? std::atoll(argv[6]) : 0;
  models::TrainOptions options{.data_dir = argv[2],
                               .batch_size = 8,
                               .num_epochs = 100,
                               .max_steps = std::atoll(argv[4]),
                               .train_dir = argv[3],
                               .save_every = 4,
                               .seed = 3,
                               .across_processes = true};
  options.devices.threads = 1;
  models::train(model, options, [&](const models::StepReport& report) {
    if (group.rank() != group.size() - 1 || report.step + 1 != last) return true;
    if (ends == "kill") std::raise(SIGKILL);
    return false;
  });
}

}  // namespace

int main(int argc, char** argv) {
  try {
    train_model(argc, argv);
  } catch (const std::exception& error) {
    parallel::process_group().abort(error.what());
  }
  return 0;
}
