#include "models/batch_norm/batch_norm.h"
#include "towerflow/tf.h"

namespace towerflow::models::batch_norm {
namespace {

Tensor conv(const std::string& name, const Tensor& x, int filters, bool training) {
  const auto scope = tf::variable_scope(name);
  const Tensor filtered =
      tf::layers::conv2d(x, filters, 3, {.padding = "same", .use_bias = false, .name = "conv"});
  const Tensor normalized = tf::layers::batch_normalization(
      filtered, {.momentum = kBatchNormDecay, .training = training, .name = "bn"});
  return tf::layers::max_pooling2d(tf::nn::relu(normalized), 2, 2);
}

Tensor tower_loss(const Batch& batch) {
  const Tensor logits = inference(batch.features, true);
  const Tensor cross_entropy =
      tf::nn::sparse_softmax_cross_entropy_with_logits({.labels = batch.labels, .logits = logits});
  return tf::reduce_mean(cross_entropy, {.name = "loss"});
}

/// Returns the pairs of the convolutions, or of the other layers.
std::vector<GradAndVar> pairs_of(const std::vector<GradAndVar>& pairs, bool convolutions) {
  std::vector<GradAndVar> chosen;
  for (const GradAndVar& pair : pairs) {
    if (pair.var.name().starts_with("conv") == convolutions) chosen.push_back(pair);
  }
  return chosen;
}

std::vector<Fetch> collected(const std::string& scope = "") {
  return tf::get_collection<Fetch>(tf::GraphKeys::UPDATE_OPS, scope);
}

}  // namespace

const std::vector<std::pair<std::string, Collecting>>& ways() {
  static const std::vector<std::pair<std::string, Collecting>> all{
      {"extended", Collecting::extended},
      {"after", Collecting::after},
      {"replaced", Collecting::replaced},
      {"first", Collecting::first}};
  return all;
}

Collecting way(const std::string& name) {
  for (const auto& [known, collecting] : ways()) {
    if (known == name) return collecting;
  }
  throw ValueError("there is no way '" + name + "' of collecting updates");
}

Tensor inference(const Tensor& images, bool training) {
  Tensor x = tf::reshape(images, {-1, 28, 28, 1});
  x = conv("conv1", x, 16, training);
  x = conv("conv2", x, 32, training);
  x = tf::layers::dense(tf::layers::flatten(x), 64, {.activation = tf::nn::relu, .name = "fc1"});
  return tf::layers::dense(x, 10, {.name = "fc2"});
}

Towers build_towers(const TowersOptions& options, const BatchFunction& next_batch) {
  Towers towers;
  const auto cpu = tf::device("/cpu:0");
  towers.global_step = tf::train::get_or_create_global_step();
  tf::train::MomentumOptimizer opt_conv(options.learning_rate, 0.9);
  tf::train::GradientDescentOptimizer opt_fc(options.learning_rate);
  std::vector<std::vector<GradAndVar>> tower_grads;
  std::vector<Fetch> update_ops;
  {
    const auto vars = tf::variable_scope(tf::get_variable_scope());
    for (int i = 0; i < options.num_gpus; ++i) {
      const auto device = tf::device("/gpu:" + std::to_string(i));
      const auto name_scope = tf::name_scope(std::string(kTowerName) + "_" + std::to_string(i));
      towers.losses.push_back(tower_loss(next_batch()));
      tf::get_variable_scope().reuse_variables();
      tower_grads.push_back(opt_conv.compute_gradients(towers.losses.back()));
      const std::vector<Fetch> so_far = collected();
      switch (options.collecting) {
        case Collecting::extended:
          update_ops.insert(update_ops.end(), so_far.begin(), so_far.end());
          break;
        case Collecting::replaced:
          update_ops = so_far;
          break;
        case Collecting::first:
          if (i == 0) update_ops = collected(name_scope);
          break;
        case Collecting::after:
          break;
      }
    }
  }
  towers.grads = tf::average_gradients(tower_grads);
  const Operation train_op_conv =
      opt_conv.apply_gradients(pairs_of(towers.grads, true), {.global_step = towers.global_step});
  const Operation train_op_fc = opt_fc.apply_gradients(pairs_of(towers.grads, false));
  towers.apply_gradient_op = tf::group({train_op_conv, train_op_fc});
  tf::train::ExponentialMovingAverage variable_averages(kMovingAverageDecay, towers.global_step);
  towers.variables_averages_op = variable_averages.apply(tf::trainable_variables());
  if (options.collecting == Collecting::after) update_ops = collected();
  if (options.collecting == Collecting::replaced) {
    const Operation batchnorm_updates_op = tf::group(update_ops);
    towers.train_op =
        tf::group({towers.apply_gradient_op, towers.variables_averages_op, batchnorm_updates_op});
  } else {
    const auto after = tf::control_dependencies(update_ops);
    towers.train_op = tf::group({towers.apply_gradient_op, towers.variables_averages_op});
  }
  towers.updates = update_ops;
  return towers;
}

}  // namespace towerflow::models::batch_norm
