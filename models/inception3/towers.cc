#include <regex>

#include "models/inception3/inception3.h"
#include "models/inception3/slim.h"
#include "towerflow/tf.h"

namespace towerflow::models::inception3 {
namespace {

/// Removes the tower's name, which differs between towers and in evaluations.
std::string without_tower(const std::string& name) {
  static const std::regex tower(std::string(kTowerName) + "_[0-9]*/");
  return std::regex_replace(name, tower, "");
}

void activation_summaries(const EndPoints& endpoints) {
  const auto scope = tf::name_scope("summaries");
  for (const auto& [name, act] : endpoints) {
    const std::string tag = without_tower(act.op().name());
    tf::summary::histogram(tag + "/activations", act);
    tf::summary::scalar(tag + "/sparsity", tf::nn::zero_fraction(act));
  }
}

}  // namespace

Logits inference(const Tensor& images, const InferenceOptions& options) {
  const EndPoints endpoints = inception_v3(images, options);
  activation_summaries(endpoints);
  const auto find = [&](const std::string& wanted) {
    for (const auto& [name, act] : endpoints) {
      if (name == wanted) return act;
    }
    return Tensor();
  };
  return {find("logits"), find("aux_logits")};
}

void loss(const Logits& logits, const Tensor& labels) {
  const std::int64_t batch_size = logits.logits.shape().size(0);
  const std::int64_t num_classes = logits.logits.shape().size(1);
  const auto rows = static_cast<std::int32_t>(batch_size);
  const Tensor sparse_labels = tf::reshape(labels, {rows, 1});
  const Tensor numbers = tf::range(rows);
  const Tensor indices = tf::reshape(numbers, {rows, 1});
  const Tensor concated = tf::concat({indices, sparse_labels}, 1);
  const Tensor dense_labels =
      tf::sparse_to_dense(concated, {rows, static_cast<std::int32_t>(num_classes)}, 1.0, 0.0);
  slim::cross_entropy_loss(logits.logits, dense_labels, 1.0);
  slim::cross_entropy_loss(logits.aux_logits, dense_labels, 0.4, "aux_loss");
}

namespace {

/// Returns the loss of one tower, whose run also updates averages of it and its parts.
Tensor tower_loss(const Batch& batch, const TowersOptions& options, const std::string& scope,
                  Reuse reuse_variables) {
  Logits logits;
  {
    const auto vars = tf::variable_scope(tf::get_variable_scope(), {.reuse = reuse_variables});
    logits = inference(batch.features,
                       {.num_classes = options.classes + 1, .for_training = true, .scope = scope});
  }
  loss(logits, batch.labels);
  std::vector<Tensor> losses = tf::get_collection(slim::LOSSES_COLLECTION, scope);
  // The collection holds only those of the first tower, which created the weights.
  const std::vector<Tensor> decays = options.own_decay
                                         ? slim::weight_decays()
                                         : tf::get_collection(GraphKeys::REGULARIZATION_LOSSES);
  std::vector<Tensor> all = losses;
  all.insert(all.end(), decays.begin(), decays.end());
  const Tensor total_loss = tf::add_n(all, {.name = "total_loss"});
  losses.push_back(total_loss);

  tf::train::ExponentialMovingAverage loss_averages(0.9, {.name = "avg"});
  const Operation loss_averages_op = loss_averages.apply(losses);
  for (const Tensor& l : losses) {
    const std::string loss_name = without_tower(l.op().name());
    tf::summary::scalar(loss_name + "__raw_", l);  // TensorFlow's tag for the published " (raw)"
    tf::summary::scalar(loss_name, *loss_averages.average(l));
  }
  const auto after = tf::control_dependencies({loss_averages_op});
  return tf::identity(total_loss);
}

}  // namespace

Towers build_towers(const TowersOptions& options, const InputFunction& input) {
  Towers towers;
  const auto cpu = tf::device("/cpu:0");
  towers.global_step = tf::get_variable(
      "global_step", Shape{}, {.initializer = tf::constant_initializer(0), .trainable = false});
  const double steps_per_epoch = static_cast<double>(options.examples) /
                                 static_cast<double>(options.batch_size * options.num_towers);
  const int decay_steps = static_cast<int>(steps_per_epoch * kEpochsPerDecay);
  const Tensor lr = tf::train::exponential_decay(options.learning_rate, towers.global_step,
                                                 decay_steps, kDecayFactor, {.staircase = true});
  towers.learning_rate = lr;
  tf::train::RMSPropOptimizer opt(lr, {.decay = 0.9, .momentum = 0.9, .epsilon = 1.0});

  const BatchFunction next_batch = input();
  const std::vector<Tensor> input_summaries = tf::get_collection(GraphKeys::SUMMARIES);
  std::vector<std::vector<GradAndVar>> tower_grads;
  std::vector<std::vector<Fetch>> batchnorm_updates;
  Reuse reuse_variables = std::nullopt;
  for (int i = 0; i < options.num_towers; ++i) {
    const auto device = tf::device("/gpu:" + std::to_string(i));
    const auto scope = tf::name_scope(std::string(kTowerName) + "_" + std::to_string(i));
    const Tensor loss = tower_loss(next_batch(), options, scope, reuse_variables);
    reuse_variables = true;
    towers.summaries = tf::get_collection(GraphKeys::SUMMARIES, scope);  // of the last tower
    batchnorm_updates.push_back(tf::get_collection<Fetch>(slim::UPDATE_OPS_COLLECTION, scope));
    tower_grads.push_back(opt.compute_gradients(loss));
    towers.losses.push_back(loss);
  }
  towers.summaries.insert(towers.summaries.end(), input_summaries.begin(), input_summaries.end());

  towers.grads = average_gradients(tower_grads);
  const Operation apply_gradient_op =
      opt.apply_gradients(towers.grads, {.global_step = towers.global_step});
  tf::train::ExponentialMovingAverage variable_averages(kMovingAverageDecay, towers.global_step);
  // Averages the averages of the batch normalizations as well, as the published checkpoints do.
  std::vector<Variable> variables_to_average = tf::trainable_variables();
  for (const Variable& average : tf::moving_average_variables()) {
    variables_to_average.push_back(average);
  }
  const auto update_averages = [&] {
    return tf::group(tf::combine_update_ops(batchnorm_updates, options.update_ops));
  };
  Operation variables_averages_op, batchnorm_updates_op;
  if (options.ordered_averages) {
    batchnorm_updates_op = update_averages();
    const auto after = tf::control_dependencies({apply_gradient_op, batchnorm_updates_op});
    variables_averages_op = variable_averages.apply(variables_to_average);
  } else {
    variables_averages_op = variable_averages.apply(variables_to_average);
    batchnorm_updates_op = update_averages();
  }
  towers.train_op = tf::group({apply_gradient_op, variables_averages_op, batchnorm_updates_op});
  return towers;
}

}  // namespace towerflow::models::inception3
