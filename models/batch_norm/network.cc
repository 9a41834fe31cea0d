#include "models/batch_norm/batch_norm.h"
#include "towerflow/tf.h"

namespace towerflow::models::batch_norm {
namespace {

Tensor filtered(const Tensor& x, int filters) {
  return tf::layers::conv2d(x, filters, 3, {.padding = "same", .use_bias = false, .name = "conv"});
}

Tensor pooled(const Tensor& normalized) {
  return tf::layers::max_pooling2d(tf::nn::relu(normalized), 2, 2);
}

Tensor conv(const std::string& name, const Tensor& x, int filters, bool training) {
  const auto scope = tf::variable_scope(name);
  return pooled(tf::layers::batch_normalization(
      filtered(x, filters), {.momentum = kBatchNormDecay, .training = training, .name = "bn"}));
}

Tensor as_images(const Tensor& pixels) { return tf::reshape(pixels, {-1, 28, 28, 1}); }

Tensor classified(const Tensor& features) {
  const Tensor x = tf::layers::dense(tf::layers::flatten(features), 64,
                                     {.activation = tf::nn::relu, .name = "fc1"});
  return tf::layers::dense(x, 10, {.name = "fc2"});
}

Tensor loss_of(const Tensor& logits, const Tensor& labels) {
  const Tensor cross_entropy =
      tf::nn::sparse_softmax_cross_entropy_with_logits({.labels = labels, .logits = logits});
  return tf::reduce_mean(cross_entropy, {.name = "loss"});
}

/// A convolution in every tower, normalized by the moments of all.
std::vector<Tensor> synchronised_conv(const tf::parallel::Lockstep& towers, const std::string& name,
                                      std::vector<Tensor> x, int filters) {
  const auto of = [&](int tower) { return x[static_cast<std::size_t>(tower)]; };
  x = towers.each([&](int tower) {
    const auto scope = tf::variable_scope(name);
    return filtered(of(tower), filters);
  });
  {
    const auto scope = tf::variable_scope(name);
    x = tf::parallel::sync_batch_normalization(
        towers, x, {.momentum = kBatchNormDecay, .training = true, .name = "bn"});
  }
  return towers.each([&](int tower) { return pooled(of(tower)); });
}

/// Builds the towers side by side, layer by layer, and differentiates the mean of their losses.
void build_synchronised(const TowersOptions& options, const BatchFunction& next_batch,
                        tf::train::Optimizer& optimizer, Towers& built) {
  const tf::parallel::Lockstep towers({.num_towers = options.num_gpus, .name = kTowerName});
  std::vector<Batch> batches;
  std::vector<Tensor> x = towers.each([&](int) {
    batches.push_back(next_batch());
    return as_images(batches.back().features);
  });
  x = synchronised_conv(towers, "conv1", x, 16);
  x = synchronised_conv(towers, "conv2", x, 32);
  built.losses = towers.each([&](int tower) {
    const auto at = static_cast<std::size_t>(tower);
    return loss_of(classified(x[at]), batches[at].labels);
  });
  const Tensor mean = tf::add_n(built.losses) / static_cast<double>(options.num_gpus);
  built.grads = optimizer.compute_gradients(mean, {.colocate_gradients_with_ops = true});
}

/// Returns the pairs of the convolutions, or of the other layers.
std::vector<GradAndVar> pairs_of(const std::vector<GradAndVar>& pairs, bool convolutions) {
  std::vector<GradAndVar> chosen;
  for (const GradAndVar& pair : pairs) {
    if (pair.var.name().starts_with("conv") == convolutions) chosen.push_back(pair);
  }
  return chosen;
}

/// Returns UPDATE_OPS so far, or those of a tower.
std::vector<Fetch> collected(const std::string& scope = "") {
  return tf::get_collection<Fetch>(tf::GraphKeys::UPDATE_OPS, scope);
}

/// Returns the library's policy for what the towers collected, if the way is one.
std::optional<UpdateOpsPolicy> policy_of(Collecting collecting) {
  switch (collecting) {
    case Collecting::first:
      return UpdateOpsPolicy::first;
    case Collecting::last:
      return UpdateOpsPolicy::last;
    case Collecting::all:
      return UpdateOpsPolicy::all;
    case Collecting::in_order:
      return UpdateOpsPolicy::in_order;
    case Collecting::merged:
      return UpdateOpsPolicy::merged;
    default:
      return std::nullopt;
  }
}

}  // namespace

const std::vector<std::pair<std::string, Collecting>>& ways() {
  static const std::vector<std::pair<std::string, Collecting>> all{
      {"extended", Collecting::extended},
      {"after", Collecting::after},
      {"replaced", Collecting::replaced},
      {"first", Collecting::first},
      {"last", Collecting::last},
      {"all", Collecting::all},
      {"in_order", Collecting::in_order},
      {"merged", Collecting::merged},
      {"synchronised", Collecting::synchronised}};
  return all;
}

Collecting way(const std::string& name) {
  for (const auto& [known, collecting] : ways()) {
    if (known == name) return collecting;
  }
  throw ValueError("there is no way '" + name + "' of collecting updates");
}

Tensor inference(const Tensor& images, bool training) {
  Tensor x = as_images(images);
  x = conv("conv1", x, 16, training);
  x = conv("conv2", x, 32, training);
  return classified(x);
}

Towers build_towers(const TowersOptions& options, const BatchFunction& next_batch) {
  Towers towers;
  const auto cpu = tf::device("/cpu:0");
  towers.global_step = tf::train::get_or_create_global_step();
  tf::train::MomentumOptimizer opt_conv(options.learning_rate, 0.9);
  tf::train::GradientDescentOptimizer opt_fc(options.learning_rate);
  const bool synchronised = options.collecting == Collecting::synchronised;
  if (synchronised) build_synchronised(options, next_batch, opt_conv, towers);
  std::vector<std::vector<GradAndVar>> tower_grads;
  std::vector<std::vector<Fetch>> tower_updates;
  std::vector<Fetch> update_ops;
  if (!synchronised) {
    const auto vars = tf::variable_scope(tf::get_variable_scope());
    for (int i = 0; i < options.num_gpus; ++i) {
      const auto device = tf::device("/gpu:" + std::to_string(i));
      const auto name_scope = tf::name_scope(std::string(kTowerName) + "_" + std::to_string(i));
      const Batch batch = next_batch();
      towers.losses.push_back(loss_of(inference(batch.features, true), batch.labels));
      tf::get_variable_scope().reuse_variables();
      tower_grads.push_back(opt_conv.compute_gradients(towers.losses.back()));
      tower_updates.push_back(collected(name_scope));
      const std::vector<Fetch> so_far = collected();
      if (options.collecting == Collecting::extended) {
        update_ops.insert(update_ops.end(), so_far.begin(), so_far.end());
      }
      if (options.collecting == Collecting::replaced) update_ops = so_far;
    }
  }
  if (!synchronised) towers.grads = tf::average_gradients(tower_grads);
  const Operation train_op_conv =
      opt_conv.apply_gradients(pairs_of(towers.grads, true), {.global_step = towers.global_step});
  const Operation train_op_fc = opt_fc.apply_gradients(pairs_of(towers.grads, false));
  towers.apply_gradient_op = tf::group({train_op_conv, train_op_fc});
  tf::train::ExponentialMovingAverage variable_averages(kMovingAverageDecay, towers.global_step);
  towers.variables_averages_op = variable_averages.apply(tf::trainable_variables());
  if (synchronised || options.collecting == Collecting::after) update_ops = collected();
  if (const auto policy = policy_of(options.collecting)) {
    update_ops = tf::combine_update_ops(tower_updates, *policy);
  }
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
