#include <fmt/format.h>

#include <chrono>

#include "models/input_position.h"
#include "models/models.h"
#include "models/resnet20/resnet20.h"
#include "models/score.h"
#include "models/training.h"
#include "towerflow/tf.h"

namespace towerflow::models::resnet20 {
namespace {

constexpr std::int64_t kLossEvery = 100;  // steps between two log lines with the loss

/// Deals batches whose position is saved with the variables.
BatchFunction input(const InputOptions& options) {
  const data::Iterator batches = distorted_batches(options);
  save_position(batches, options);
  return dealt_inputs(batches, options);
}

template <class T>
T value_of(const OptionValues& values, const char* name) {
  return std::get<T>(option_value(kModel, values, name));
}

/// Returns the first rate of the schedule.
double first_rate(const BuildOptions& options) {
  const Nested* given = options.learning_rate.nested();
  const auto* rate = given != nullptr ? std::get_if<double>(&given->value()) : nullptr;
  if (rate == nullptr) throw ValueError("the learning rate of the schedule must be a number");
  return *rate;
}

TrainingGraph build(const BuildOptions& options, const InputFunction& input) {
  const auto strategy = value_of<std::string>(options.values, "variable-strategy");
  const Towers towers = build_towers(
      {.num_layers = static_cast<int>(value_of<std::int64_t>(options.values, "depth")),
       .num_towers = options.num_towers,
       .learning_rate = first_rate(options),
       .batch_size = options.batch_size,
       .examples = options.examples,
       .schedule_epochs = value_of<std::int64_t>(options.values, "schedule-epochs"),
       .update_ops = tf::update_ops_policy(value_of<std::string>(options.values, "update-ops")),
       .variable_strategy = strategy == "GPU" ? VariableStrategy::gpu : VariableStrategy::cpu,
       .decay_kernels_only = value_of<bool>(options.values, "decay-kernels-only")},
      input);
  return {.global_step = towers.global_step,
          .stages = {{.train_op = towers.train_op,
                      .losses = towers.losses,
                      .parts = {{"learning_rate", towers.learning_rate}}}},
          .grads = towers.grads,
          .summaries = {tf::summary::scalar("loss", towers.loss)},
          .learning_rate = towers.learning_rate};
}

/// Counts the images whose highest logit is the right one, and adds up their cross entropies, with
/// the moving averages of the moments.
EvaluationGraph build_evaluation(const Batch& batch, const OptionValues& values) {
  EvaluationGraph graph;
  const auto vars = tf::variable_scope("resnet");
  const auto name_scope = tf::name_scope(fmt::format("{}_0", kTowerName));
  ResNetCifar10 model(static_cast<int>(value_of<std::int64_t>(values, "depth")),
                      /*is_training=*/false);
  const Tensor logits = model.forward_pass(batch.features);
  const Tensor cross_entropy =
      tf::nn::sparse_softmax_cross_entropy_with_logits({.labels = batch.labels, .logits = logits});
  graph.sums = {count_right(logits, batch.labels), tf::reduce_sum(cross_entropy)};
  for (const Variable& variable : tf::global_variables()) {
    graph.restored[variable.op().name()] = variable;
  }
  return graph;
}

Score score(std::int64_t examples, const std::vector<double>& sums) {
  const double cross_entropy = sums[1] / static_cast<double>(examples);
  Score score = score_of_right(examples, sums[0], {.measure = "accuracy", .field = "accuracy"});
  score.text += fmt::format(", cross entropy = {:.3f}", cross_entropy);
  score.fields.emplace_back("cross_entropy", cross_entropy);
  return score;
}

/// Writes the lines of the estimator's hooks: the rate of examples, on average and of the last 10
/// steps, and every 100 steps the learning rate and the loss.
StepLog log_of(const TrainOptions& options) {
  using Clock = std::chrono::steady_clock;
  const auto seconds = [](Clock::time_point from, Clock::time_point to) {
    return std::chrono::duration<double>(to - from).count();
  };
  struct State {
    std::int64_t first_step = -1, last_step = -1;
    Clock::time_point start, last, last_loss;
  };
  const auto examples = static_cast<double>(examples_of_step(options));
  return [=, state = State{}](const StepReport& report) mutable {
    const Clock::time_point now = Clock::now();
    std::string lines;
    if (state.first_step >= 0) {
      const auto total = static_cast<double>(report.step - state.first_step);
      const auto recent = static_cast<double>(report.step - state.last_step);
      lines = fmt::format("INFO:tensorflow:Average examples/sec: {:g} ({:g}), step = {:g}",
                          examples * total / seconds(state.start, now),
                          examples * recent / seconds(state.last, now), total);
    } else {
      state.first_step = report.step;
      state.start = now;
    }
    if (report.step % kLossEvery == 0 || lines.empty()) {
      const std::string rate = lines;
      lines = fmt::format("INFO:tensorflow:learning_rate = {:g}, loss = {:g}",
                          report.parts.front().second, report.loss);
      if (!rate.empty()) {
        lines += fmt::format(" ({:.3f} sec)\n{}", seconds(state.last_loss, now), rate);
      }
      state.last_loss = now;
    }
    state.last_step = report.step;
    state.last = now;
    return lines;
  };
}

}  // namespace

const Model kModel{
    .name = "resnet20",
    .title = "ResNet for CIFAR-10",
    .about = "the residual network of TensorFlow's CIFAR-10 estimator",
    .training =
        "Each step's examples are dealt to the towers one by one.\n"
        "The rate falls to 1/10, 1/100 and 1/500 after 1/2, 3/4 and 1.83 of --schedule-epochs.",
    .evaluation =
        "how many are recognised with the moving averages of the\n"
        "batch normalizations: the accuracy, and the mean cross entropy.",
    .tower = kTowerName,
    .learning_rate = 0.1,
    .own_schedule = true,
    .batch_size = 128,
    .split_batch = true,
    .log_every = 10,
    .stages = {{}},
    .options = {{.name = "depth",
                 .about = "number of layers, 6 n + 2: 20, 32, 44, 56 and 110 are usual",
                 .value = std::int64_t{20},
                 .kept = true,
                 .most = 1202},
                {.name = "schedule-epochs",
                 .about = "length of the training for which the learning rate falls: 164 gives the "
                          "published boundaries, 82, 123 and 300 epochs",
                 .value = kScheduleEpochs,
                 .kept = true,
                 .most = 100000},
                {.name = "update-ops",
                 .about = "towers whose moments update the moving averages: the first, as in the "
                          "published program, the last, all, each from the value before the step, "
                          "in_order, one after another, or merged, taken as one batch",
                 .value = std::string("first"),
                 .kept = true,
                 .choices = names_of(tf::update_ops_policies())},
                {.name = "variable-strategy",
                 .about =
                     "where variables are kept: on the CPU, or balanced by bytes over the GPUs",
                 .value = std::string("CPU"),
                 .kept = true,
                 .choices = {"CPU", "GPU"}},
                {.name = "decay-kernels-only",
                 .about =
                     "weight decay of kernels alone; the published program lets biases and the "
                     "variables of batch normalization decay too",
                 .value = false,
                 .kept = true}},
    .data = &kRecords,
    .one_pipeline = true,
    .mean_loss = true,
    .input = input,
    .test_input = inputs,
    .batch_in_memory = batch_in_memory,
    .build = build,
    .build_evaluation = build_evaluation,
    .score = score,
    .log = log_of};

}  // namespace towerflow::models::resnet20
