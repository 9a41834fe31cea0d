#include "models/update_ops.h"

#include "towerflow/tf.h"

namespace towerflow::models::update_ops {
namespace {

Variable moving_statistic(const std::string& name, std::int64_t size, Initializer initializer) {
  return tf::get_variable(
      name, Shape{size},
      {.initializer = std::move(initializer),
       .trainable = false,
       .collections = {{tf::GraphKeys::GLOBAL_VARIABLES, tf::GraphKeys::MODEL_VARIABLES}}});
}

Tower build_tower() {
  Tower tower;
  tower.images = tf::placeholder(tf::float32, {.shape = {None, 6, 6, 2}, .name = "images"});
  tower.labels = tf::placeholder(tf::int64, {.shape = {None}, .name = "labels"});
  const Tensor logits = inference(tower.images);
  const Tensor cross_entropy =
      tf::nn::sparse_softmax_cross_entropy_with_logits({.labels = tower.labels, .logits = logits});
  tower.loss = tf::reduce_mean(cross_entropy, {.name = "loss"});
  return tower;
}

/// Returns the pairs whose variables are in the variable scope `scope`, or those outside it.
std::vector<GradAndVar> pairs_of(const std::vector<GradAndVar>& pairs, bool inside,
                                 const std::string& scope) {
  std::vector<GradAndVar> chosen;
  for (const GradAndVar& pair : pairs) {
    if (pair.var.name().starts_with(scope) == inside) chosen.push_back(pair);
  }
  return chosen;
}

std::vector<Fetch> fetches(const std::vector<Tensor>& tensors) {
  return {tensors.begin(), tensors.end()};
}

}  // namespace

Tensor batch_norm(const Tensor& x) {
  const std::int64_t channels = x.shape().size(3);
  const Variable beta =
      tf::get_variable("beta", Shape{channels}, {.initializer = tf::zeros_initializer()});
  const Variable gamma =
      tf::get_variable("gamma", Shape{channels}, {.initializer = tf::ones_initializer()});
  const Variable moving_mean = moving_statistic("moving_mean", channels, tf::zeros_initializer());
  const Variable moving_variance =
      moving_statistic("moving_variance", channels, tf::ones_initializer());
  const auto [mean, variance] = tf::nn::moments(x, {0, 1, 2});
  tf::add_to_collection(
      tf::GraphKeys::UPDATE_OPS,
      tf::train::assign_moving_average(moving_mean, mean, kBatchNormDecay, {.zero_debias = false}));
  tf::add_to_collection(tf::GraphKeys::UPDATE_OPS,
                        tf::train::assign_moving_average(moving_variance, variance, kBatchNormDecay,
                                                         {.zero_debias = false}));
  return tf::nn::batch_normalization(x, mean, variance, beta, gamma, kBatchNormEpsilon);
}

Tensor inference(const Tensor& images) {
  const Tensor conv = tf::with(tf::variable_scope("conv"), [&](auto&) {
    const Variable kernel = tf::get_variable("weights", Shape{3, 3, 2, 4});
    const Tensor filtered = tf::nn::conv2d(images, kernel, {1, 1, 1, 1}, "SAME");
    return tf::nn::relu(batch_norm(filtered));
  });
  return tf::with(tf::variable_scope("fc"), [&](auto&) {
    const Variable weights = tf::get_variable("weights", Shape{6 * 6 * 4, 3});
    const Variable biases =
        tf::get_variable("biases", Shape{3}, {.initializer = tf::zeros_initializer()});
    return tf::matmul(tf::reshape(conv, {-1, 6 * 6 * 4}), weights) + biases;
  });
}

Towers build_towers(const TowersOptions& options) {
  Towers towers;
  const auto cpu = tf::device("/cpu:0");
  towers.global_step = tf::train::get_or_create_global_step();
  tf::train::GradientDescentOptimizer opt(options.learning_rate);
  std::vector<std::vector<GradAndVar>> tower_grads;
  {
    const auto vars = tf::variable_scope(tf::get_variable_scope());
    for (int i = 0; i < options.num_gpus; ++i) {
      const auto device = tf::device("/gpu:" + std::to_string(i));
      const auto name_scope = tf::name_scope("device_" + std::to_string(i));
      towers.towers.push_back(build_tower());
      tf::get_variable_scope().reuse_variables();
      tower_grads.push_back(opt.compute_gradients(towers.towers.back().loss));
      const auto so_far = tf::get_collection(tf::GraphKeys::UPDATE_OPS);
      switch (options.collecting) {
        case Collecting::extended_in_loop:
          towers.updates.insert(towers.updates.end(), so_far.begin(), so_far.end());
          break;
        case Collecting::replaced_in_loop:
          towers.updates = so_far;
          break;
        case Collecting::first_tower:
          if (i == 0) towers.updates = tf::get_collection(tf::GraphKeys::UPDATE_OPS, name_scope);
          break;
        case Collecting::after_loop:
          break;
      }
    }
  }
  const std::vector<GradAndVar> grads = tf::average_gradients(tower_grads);
  towers.train_ops = {
      opt.apply_gradients(pairs_of(grads, true, "conv/"), {.global_step = towers.global_step}),
      opt.apply_gradients(pairs_of(grads, false, "conv/"))};
  tf::train::ExponentialMovingAverage variable_averages(kMovingAverageDecay, towers.global_step);
  towers.averages_op = variable_averages.apply(tf::trainable_variables());
  if (options.collecting == Collecting::after_loop) {
    towers.updates = tf::get_collection(tf::GraphKeys::UPDATE_OPS);
  }
  if (options.collecting == Collecting::replaced_in_loop) {
    const Operation batchnorm_updates_op = tf::group(fetches(towers.updates));
    towers.train_op = tf::group(
        {towers.train_ops[0], towers.train_ops[1], towers.averages_op, batchnorm_updates_op});
  } else {
    const auto after = tf::control_dependencies(fetches(towers.updates));
    towers.train_op = tf::group({towers.train_ops[0], towers.train_ops[1], towers.averages_op});
  }
  return towers;
}

}  // namespace towerflow::models::update_ops
