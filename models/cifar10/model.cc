#include <fmt/format.h>

#include "models/cifar10/cifar10.h"
#include "models/models.h"
#include "models/score.h"
#include "towerflow/tf.h"

namespace towerflow::models::cifar10 {
namespace {

bool flag(const OptionValues& values, const char* name) {
  return std::get<bool>(option_value(kModel, values, name));
}

/// The program for one device reads the batches themselves; towers take them from a queue.
BatchFunction input(const InputOptions& options) {
  if (!flag(options.values, "one-device")) return distorted_inputs(options);
  return [batch = distorted_batch(options)] { return batch; };
}

TrainingGraph build(const BuildOptions& options, const InputFunction& input) {
  const bool one_device = flag(options.values, "one-device");
  if (one_device && options.num_towers != 1) {
    throw ValueError(fmt::format("the program for one device has no towers, {} were asked for",
                                 options.num_towers),
                     {.hint = "leave out --one-device, or give --num-towers 1"});
  }
  const TowersOptions towers_options{
      .num_towers = options.num_towers,
      .learning_rate = options.learning_rate,
      .batch_size = options.batch_size,
      .examples = options.examples,
      .published_schedule = flag(options.values, "published-schedule"),
      .ordered_averages = flag(options.values, "ordered-averages"),
      .plain_tags = flag(options.values, "plain-tags")};
  const Towers towers =
      one_device ? build_one_device(towers_options, input) : build_towers(towers_options, input);
  TrainingGraph graph{.global_step = towers.global_step,
                      .stages = {{towers.train_op, towers.losses}},
                      .grads = towers.grads,
                      .summaries = towers.summaries,
                      .has_histograms = one_device};
  if (!one_device) graph.learning_rate = towers.learning_rate;
  return graph;
}

/// Counts the images whose highest logit is the right one, with the averages of the variables.
EvaluationGraph build_evaluation(const Batch& batch, const OptionValues&) {
  const Tensor logits = inference(batch.features);
  const tf::train::ExponentialMovingAverage variable_averages(kMovingAverageDecay);
  return {.sums = {count_right(logits, batch.labels)},
          .restored = variable_averages.variables_to_restore()};
}

Score score(std::int64_t examples, const std::vector<double>& sums) {
  return score_of_right(examples, sums[0], {.decimals = 3});
}

}  // namespace

const Model kModel{
    .name = "cifar10",
    .title = "CIFAR-10",
    .about = "the network of TensorFlow's CIFAR-10 tutorial",
    .training =
        "The rate is divided by 10 every 350 epochs.\n"
        "Moving averages of all variables are kept for the evaluation.",
    .evaluation =
        "how many are recognised by the moving averages of the variables:\n"
        "precision @ 1 is the share whose highest score is the right class.",
    .tower = kTowerName,
    .learning_rate = 0.1,
    .own_schedule = true,
    .batch_size = 128,
    .log_every = 10,
    .reader_threads = 1,
    .stages = {{}},
    .options = {{.name = "one-device",
                 .about = "train with the tutorial's program for one device: no tower, and moving "
                          "averages of the losses",
                 .value = false,
                 .kept = true},
                {.name = "published-schedule",
                 .about = "let the rate fall after as many steps whatever the number of towers, a "
                          "mistake of the published program kept for teaching",
                 .value = false,
                 .kept = true},
                {.name = "ordered-averages",
                 .about = "let the moving averages of towers wait for the update of the variables; "
                          "the published program orders them for one device only",
                 .value = false,
                 .kept = true},
                {.name = "plain-tags",
                 .about = "leave the towers' names out of the tags of summaries; the published "
                          "program takes them out and its open name scope puts them back",
                 .value = false,
                 .of_training = true}},
    .data = &kImages,
    .one_pipeline = true,
    .random_input = true,
    .input = input,
    .test_input = inputs,
    .batch_in_memory = batch_in_memory,
    .build = build,
    .build_evaluation = build_evaluation,
    .score = score};

}  // namespace towerflow::models::cifar10
