#include "models/mnist.h"

#include <regex>

#include "models/digits.h"
#include "models/models.h"
#include "models/score.h"
#include "towerflow/tf.h"

namespace towerflow::models::mnist {
namespace {

/// Creates a variable in CPU memory, whatever device the tower is on.
Variable variable_on_cpu(const std::string& name, const Shape& shape, Initializer initializer) {
  const auto device = tf::device("/cpu:0");
  return tf::get_variable(name, shape,
                          {.dtype = tf::float32, .initializer = std::move(initializer)});
}

}  // namespace

Tensor inference(const Tensor& images, NetOptions options) {
  const Tensor x_image = tf::reshape(images, {-1, 28, 28, 1});

  const std::int64_t k = options.kernel;
  const Tensor conv1 = tf::with(tf::variable_scope(options.prefix + "conv1"), [&](auto& scope) {
    const Variable kernel = variable_on_cpu("weights", {k, k, 1, 32},
                                            tf::truncated_normal_initializer({.stddev = 5e-2}));
    const Variable biases = variable_on_cpu("biases", {32}, tf::constant_initializer(0.0));
    const Tensor conv = tf::nn::conv2d(x_image, kernel, {1, 1, 1, 1}, "SAME");
    return tf::nn::relu(tf::nn::bias_add(conv, biases), {.name = scope.name()});
  });
  const Tensor pool1 =
      tf::nn::max_pool(conv1, {1, 2, 2, 1}, {1, 2, 2, 1}, "SAME", {.name = "pool1"});

  const Tensor conv2 = tf::with(tf::variable_scope(options.prefix + "conv2"), [&](auto& scope) {
    const Variable kernel = variable_on_cpu("weights", {k, k, 32, 64},
                                            tf::truncated_normal_initializer({.stddev = 5e-2}));
    const Tensor conv = tf::nn::conv2d(pool1, kernel, {1, 1, 1, 1}, "SAME");
    const Variable biases = variable_on_cpu("biases", {64}, tf::constant_initializer(0.1));
    return tf::nn::relu(tf::nn::bias_add(conv, biases), {.name = scope.name()});
  });
  const Tensor pool2 =
      tf::nn::max_pool(conv2, {1, 2, 2, 1}, {1, 2, 2, 1}, "SAME", {.name = "pool2"});

  const Tensor local3 = tf::with(tf::variable_scope(options.prefix + "local3"), [&](auto& scope) {
    // Flattens all features, so that one matrix product suffices.
    const Tensor flat = tf::reshape(pool2, {-1, 7 * 7 * 64});
    const Variable weights = variable_on_cpu("weights", {flat.get_shape()[1], 1024},
                                             tf::truncated_normal_initializer({.stddev = 0.04}));
    const Variable biases = variable_on_cpu("biases", {1024}, tf::constant_initializer(0.1));
    return tf::nn::relu(tf::matmul(flat, weights) + biases, {.name = scope.name()});
  });

  const Tensor local4 = tf::with(tf::variable_scope(options.prefix + "local4"), [&](auto& scope) {
    const Variable weights =
        variable_on_cpu("weight", {1024, 10}, tf::truncated_normal_initializer({.stddev = 0.04}));
    const Variable biases = variable_on_cpu("biases", {10}, tf::constant_initializer(0.1));
    if (options.relu_logits) {
      return tf::nn::relu(tf::matmul(local3, weights) + biases, {.name = scope.name()});
    }
    return tf::add(tf::matmul(local3, weights), biases, {.name = scope.name()});
  });

  // No softmax here: the loss takes unscaled logits and applies it itself.
  return tf::with(tf::variable_scope(options.prefix + "softmax_linear"), [&](auto& scope) {
    const Variable weights = variable_on_cpu(
        "weight", {10, 10}, tf::truncated_normal_initializer({.stddev = 1 / 192.0}));
    const Variable biases = variable_on_cpu("biases", {10}, tf::constant_initializer(0.0));
    return tf::add(tf::matmul(local4, weights), biases, {.name = scope.name()});
  });
}

Tensor loss(const Tensor& logits, const Tensor& labels) {
  const Tensor wide_labels = tf::cast(labels, tf::int64);
  const Tensor cross_entropy = tf::nn::sparse_softmax_cross_entropy_with_logits(
      {.labels = wide_labels, .logits = logits, .name = "cross_entropy_per_example"});
  const Tensor cross_entropy_mean = tf::reduce_mean(cross_entropy, {.name = "cross_entropy"});
  tf::add_to_collection("losses", cross_entropy_mean);
  return tf::add_n(tf::get_collection("losses"), {.name = "total_loss"});
}

Tensor tower_loss(const std::string& scope, const BatchFunction& next_batch, NetOptions options) {
  const auto [images, labels] = next_batch();
  const Tensor logits = inference(images, options);
  loss(logits, labels);
  // Only the losses of this tower.
  std::vector<Tensor> losses = tf::get_collection("losses", scope);
  const Tensor total_loss = tf::add_n(losses, {.name = "total_loss"});
  if (options.tb_logging) {
    losses.push_back(total_loss);
    for (const Tensor& l : losses) {
      // Removes the tower's name, which the enclosing name scope adds again.
      static const std::regex tower(std::string(kTowerName) + "_[0-9]*/");
      tf::summary::scalar(std::regex_replace(l.op().name(), tower, ""), l);
    }
  }
  return total_loss;
}

std::vector<GradAndVar> average_by_hand(const std::vector<std::vector<GradAndVar>>& tower_grads) {
  std::vector<GradAndVar> averages;
  for (std::size_t variable = 0; variable < tower_grads[0].size(); ++variable) {
    std::vector<Tensor> expanded;
    for (const auto& tower : tower_grads) {
      expanded.push_back(tf::expand_dims(tower[variable].grad, 0));
    }
    averages.push_back({tf::reduce_mean(tf::concat(expanded, 0), 0), tower_grads[0][variable].var});
  }
  return averages;
}

Towers build_towers(const TowersOptions& options, const BatchFunction& next_batch) {
  Towers towers;
  const auto cpu = tf::device("/cpu:0");
  towers.global_step = tf::get_variable(
      "global_step", Shape{}, {.initializer = tf::constant_initializer(0), .trainable = false});
  tf::train::MomentumOptimizer opt(options.learning_rate, options.momentum,
                                   {.use_locking = true, .use_nesterov = true});
  {
    // Entering the scope again keeps reuse_variables() from outliving the loop.
    const auto vars = tf::variable_scope(tf::get_variable_scope());
    for (int i = 0; i < options.num_towers; ++i) {
      const auto device = tf::device("/gpu:" + std::to_string(i));
      const auto scope = tf::name_scope(std::string(kTowerName) + "_" + std::to_string(i));
      const Tensor tower_total = tower_loss(scope, next_batch, options.net);
      tf::get_variable_scope().reuse_variables();
      // Keeps the summaries of the last tower.
      towers.summaries = tf::get_collection(GraphKeys::SUMMARIES, scope);
      towers.tower_grads.push_back(
          opt.compute_gradients(tower_total, {.gate_gradients = tf::train::GATE_NONE}));
      towers.losses.push_back(tower_total);
    }
  }
  towers.grads =
      options.average ? options.average(towers.tower_grads) : average_gradients(towers.tower_grads);
  towers.train_op = opt.apply_gradients(towers.grads, {.global_step = towers.global_step});
  towers.init = tf::group({tf::global_variables_initializer(), tf::local_variables_initializer()});
  return towers;
}

namespace {

TrainingGraph build(const BuildOptions& options, const InputFunction& input) {
  const BatchFunction next_batch = input();
  const auto value = [&](const char* name) { return option_value(kModel, options.values, name); };
  const NetOptions net{.relu_logits = std::get<bool>(value("relu-logits")),
                       .kernel = std::get<std::int64_t>(value("kernel")),
                       .prefix = std::get<std::string>(value("prefix")),
                       .tb_logging = options.tb_logging};
  const Towers towers = build_towers(
      {.num_towers = options.num_towers,
       .net = net,
       .learning_rate = options.learning_rate,
       .average = std::get<bool>(value("by-hand")) ? Averager(average_by_hand) : Averager()},
      next_batch);
  const StageOps ops{towers.train_op, towers.losses};
  return {towers.global_step, {ops, ops}, towers.grads, towers.summaries};
}

EvaluationGraph build_evaluation(const Batch& batch, const OptionValues& values) {
  const bool relu_logits = std::get<bool>(option_value(kModel, values, "relu-logits"));
  const Tensor logits = inference(batch.features, {.relu_logits = relu_logits});
  const Tensor hits = tf::equal(tf::argmax(logits, 1), tf::cast(batch.labels, tf::int64));
  return {{tf::reduce_sum(tf::cast(hits, tf::float32))}};
}

Score score(std::int64_t examples, const std::vector<double>& sums) {
  return score_of_right(examples, sums[0], {.examples = "digits"});
}

}  // namespace

const Model kModel{
    .name = "mnist",
    .title = "MNIST",
    .about = "two convolutions and three dense layers",
    .training =
        "The rate is divided by 10 after 60 % of the steps, unless --constant-rate is given.",
    .evaluation =
        "how many are recognised: precision @ 1 is the share whose highest score is\n"
        "the right digit.",
    .tower = kTowerName,
    .learning_rate = 0.005,
    .stages = {{.end_percent = 60}, {.rate_factor = 0.1, .constant_option = "constant-rate"}},
    .options = {{.name = "relu-logits",
                 .about = "the ReLU on local4 of the source text, a mistake kept for teaching",
                 .value = false,
                 .kept = true},
                {.name = "kernel",
                 .about = "height and width of convolutions; for `bench`",
                 .value = std::int64_t{5},
                 .most = 28},
                {.name = "prefix",
                 .about = "put before the layers' names; for `bench`",
                 .value = std::string()},
                {.name = "by-hand",
                 .about = "average by expand_dims, concat and reduce_mean, as the source text does",
                 .value = false,
                 .of_training = true},
                {.name = "constant-rate",
                 .about = "keep the learning rate, as the source text does",
                 .value = false,
                 .kept = true}},
    .data = &kDigits,
    .input = digits_of_towers,
    .test_input = ordered_inputs,
    .batch_in_memory = batch_in_memory,
    .build = build,
    .build_evaluation = build_evaluation,
    .score = score};

}  // namespace towerflow::models::mnist
