#include <memory>

#include "models/cifar10/cifar10.h"
#include "towerflow/tf.h"

namespace towerflow::models::cifar10 {
namespace {

/// Returns the loss of one tower: the sum of the losses in its name scope.
Tensor tower_loss(const std::string& scope, const Tensor& images, const Tensor& labels,
                  LaterSummaries* later) {
  const Tensor logits = inference(images, later);
  loss(logits, labels);
  std::vector<Tensor> losses = tf::get_collection("losses", scope);
  const Tensor total_loss = tf::add_n(losses, {.name = "total_loss"});
  losses.push_back(total_loss);
  summarize(later, [losses] {
    for (const Tensor& l : losses) tf::summary::scalar(tag_of(l), l);
  });
  return total_loss;
}

/// Returns the rate of a step.
Tensor decayed_rate(const TowersOptions& options, const Variable& global_step) {
  const std::int64_t batches_a_step = options.published_schedule ? 1 : options.num_towers;
  const double steps_per_epoch = static_cast<double>(options.examples) /
                                 static_cast<double>(options.batch_size * batches_a_step);
  const int decay_steps = static_cast<int>(steps_per_epoch * kEpochsPerDecay);
  return tf::train::exponential_decay(options.learning_rate, global_step, decay_steps, kDecayFactor,
                                      {.staircase = true});
}

/// Returns the update of moving averages of all losses, which are summarized beside the losses.
Operation add_loss_summaries(const Tensor& total_loss) {
  tf::train::ExponentialMovingAverage loss_averages(0.9, {.name = "avg"});
  std::vector<Tensor> losses = tf::get_collection("losses");
  losses.push_back(total_loss);
  const Operation loss_averages_op = loss_averages.apply(losses);
  for (const Tensor& l : losses) {
    // TensorFlow's tag for the published " (raw)".
    tf::summary::scalar(l.op().name() + "__raw_", l);
    tf::summary::scalar(l.op().name(), *loss_averages.average(l));
  }
  return loss_averages_op;
}

}  // namespace

Towers build_one_device(const TowersOptions& options, const InputFunction& input) {
  Towers towers;
  towers.global_step = tf::train::get_or_create_global_step();
  const auto [images, labels] = [&] {
    const auto cpu = tf::device("/cpu:0");
    return input()();
  }();
  const Tensor total_loss = loss(inference(images), labels);
  towers.losses = {total_loss};
  towers.learning_rate = decayed_rate(options, towers.global_step);
  tf::summary::scalar("learning_rate", towers.learning_rate);
  const Operation loss_averages_op = add_loss_summaries(total_loss);
  const auto opt = [&] {
    const auto after = tf::control_dependencies({loss_averages_op});
    auto descent = std::make_unique<tf::train::GradientDescentOptimizer>(towers.learning_rate);
    towers.grads = descent->compute_gradients(total_loss);
    return descent;
  }();
  const Operation apply_gradient_op =
      opt->apply_gradients(towers.grads, {.global_step = towers.global_step});
  for (const Variable& var : tf::trainable_variables()) {
    tf::summary::histogram(var.op().name(), var);
  }
  for (const GradAndVar& pair : towers.grads) {
    if (!pair.grad) continue;
    tf::summary::histogram(pair.var.op().name() + "/gradients", pair.grad->dense());
  }
  towers.summaries = tf::get_collection(GraphKeys::SUMMARIES);
  tf::train::ExponentialMovingAverage variable_averages(kMovingAverageDecay, towers.global_step);
  const auto after = tf::control_dependencies({apply_gradient_op});
  towers.train_op = variable_averages.apply(tf::trainable_variables());
  return towers;
}

Towers build_towers(const TowersOptions& options, const InputFunction& input) {
  Towers towers;
  const auto cpu = tf::device("/cpu:0");
  towers.global_step = tf::get_variable(
      "global_step", Shape{}, {.initializer = tf::constant_initializer(0), .trainable = false});
  towers.learning_rate = decayed_rate(options, towers.global_step);
  tf::train::GradientDescentOptimizer opt(towers.learning_rate);

  const BatchFunction next_batch = input();
  std::vector<std::vector<GradAndVar>> tower_grads;
  LaterSummaries later;  // of the last tower
  {
    // Entering the scope again keeps reuse_variables() from outliving the loop.
    const auto vars = tf::variable_scope(tf::get_variable_scope());
    for (int i = 0; i < options.num_towers; ++i) {
      const auto device = tf::device("/gpu:" + std::to_string(i));
      const auto scope = tf::name_scope(std::string(kTowerName) + "_" + std::to_string(i));
      const auto [images, labels] = next_batch();
      later.clear();
      const Tensor loss = tower_loss(scope, images, labels, options.plain_tags ? &later : nullptr);
      tf::get_variable_scope().reuse_variables();
      // Keeps the summaries of the last tower.
      towers.summaries = tf::get_collection(GraphKeys::SUMMARIES, scope);
      tower_grads.push_back(opt.compute_gradients(loss));
      towers.losses.push_back(loss);
    }
  }
  if (options.plain_tags) {
    const auto of_input = std::ssize(tf::get_collection(GraphKeys::SUMMARIES));
    for (const auto& add : later) add();
    towers.summaries = tf::get_collection(GraphKeys::SUMMARIES);
    towers.summaries.erase(towers.summaries.begin(), towers.summaries.begin() + of_input);
  }
  towers.grads = average_gradients(tower_grads);
  const Operation apply_gradient_op =
      opt.apply_gradients(towers.grads, {.global_step = towers.global_step});
  tf::train::ExponentialMovingAverage variable_averages(kMovingAverageDecay, towers.global_step);
  std::vector<Operation> before;
  if (options.ordered_averages) before = {apply_gradient_op};
  const auto after = tf::control_dependencies(before);
  const Operation variables_averages_op = variable_averages.apply(tf::trainable_variables());
  towers.train_op = tf::group({apply_gradient_op, variables_averages_op});
  return towers;
}

}  // namespace towerflow::models::cifar10
