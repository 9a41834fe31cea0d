#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "models/resnet20/resnet20.h"
#include "models/variable_devices.h"
#include "towerflow/tf.h"

namespace towerflow::models::resnet20 {
namespace {

constexpr std::array<std::int64_t, 3> kBoundaries{82, 123, 300};  // in epochs
constexpr std::array<double, 4> kRates{1, 0.1, 0.01, 0.002};      // of the first rate

DeviceFunction device_setter(const TowersOptions& options, int tower) {
  const std::string worker_device = fmt::format("/gpu:{}", tower);
  if (options.variable_strategy == VariableStrategy::cpu) {
    return local_device_setter("cpu", worker_device, round_robin(1));
  }
  return local_device_setter("gpu", worker_device, greedy_load_balancing(options.num_towers));
}

/// What one tower computes.
struct Tower {
  Tensor loss, classes, probabilities, labels;
  std::vector<GradAndVar> gradvars;
};

Tower tower_fn(const Batch& batch, const TowersOptions& options) {
  ResNetCifar10 model(options.num_layers, /*is_training=*/true, options.data_format);
  const Tensor logits = model.forward_pass(batch.features);
  Tower tower;
  tower.classes = tf::argmax(logits, 1);
  tower.probabilities = tf::nn::softmax(logits);
  tower.labels = batch.labels;
  const Tensor cross_entropy = tf::losses::sparse_softmax_cross_entropy(batch.labels, logits);
  const Tensor mean = tf::reduce_mean(cross_entropy);
  const std::vector<Variable> model_params = tf::trainable_variables();
  std::vector<Tensor> squares;
  for (const Variable& v : model_params) {
    if (options.decay_kernels_only && !v.op().name().ends_with("/kernel")) continue;
    squares.push_back(tf::nn::l2_loss(v));
  }
  const Tensor decay = kWeightDecay * tf::add_n(squares);
  tower.loss = mean + decay;
  tower.gradvars = tf::zip(tf::gradients(tower.loss, model_params), model_params);
  return tower;
}

Tensor learning_rate_at(const Variable& global_step, const TowersOptions& options) {
  const std::int64_t num_batches_per_epoch =
      std::max<std::int64_t>(1, options.examples / (options.batch_size * options.num_towers));
  std::vector<Operand> boundaries, staged_lr;
  for (const std::int64_t epochs : kBoundaries) {
    boundaries.emplace_back(Array::of<std::int64_t>(
        Shape{}, {num_batches_per_epoch * epochs * options.schedule_epochs / kScheduleEpochs}));
  }
  for (const double factor : kRates) staged_lr.emplace_back(options.learning_rate * factor);
  const Tensor rate = tf::train::piecewise_constant(global_step, boundaries, staged_lr);
  return tf::identity(rate, {.name = "learning_rate"});
}

/// Joins what the towers predict, and adds the accuracy of it. The published program gives the
/// classes, the probabilities and the accuracy to its estimator, which evaluates with them; a
/// training runs none of them.
void add_predictions(const std::vector<Tower>& towers) {
  std::vector<Tensor> classes, probabilities, labels;
  for (const Tower& tower : towers) {
    classes.push_back(tower.classes);
    probabilities.push_back(tower.probabilities);
    labels.push_back(tower.labels);
  }
  const Tensor all_classes = tf::concat(classes, 0);
  tf::concat(probabilities, 0);
  const Tensor stacked_labels = tf::concat(labels, 0);
  tf::metrics::accuracy(stacked_labels, all_classes);
}

}  // namespace

Towers build_towers(const TowersOptions& options, const InputFunction& input) {
  Towers built;
  built.global_step = tf::train::get_or_create_global_step();
  const BatchFunction next_batch = input();
  std::vector<Tower> towers;
  std::vector<std::vector<Fetch>> tower_updates;
  for (int i = 0; i < options.num_towers; ++i) {
    const auto vars = tf::variable_scope("resnet", {.reuse = i != 0});
    const auto name_scope = tf::name_scope(fmt::format("{}_{}", kTowerName, i));
    const auto device = tf::device(device_setter(options, i));
    towers.push_back(tower_fn(next_batch(), options));
    tower_updates.push_back(tf::get_collection<Fetch>(tf::GraphKeys::UPDATE_OPS, name_scope));
    built.losses.push_back(towers.back().loss);
  }
  std::vector<std::vector<GradAndVar>> tower_gradvars;
  for (const Tower& tower : towers) tower_gradvars.push_back(tower.gradvars);
  built.grads = average_present_gradients(tower_gradvars);
  const std::vector<Fetch> update_ops = tf::combine_update_ops(tower_updates, options.update_ops);

  const bool on_gpu = options.variable_strategy == VariableStrategy::gpu;
  const auto consolidation_device = tf::device(on_gpu ? "/gpu:0" : "/cpu:0");
  built.learning_rate = learning_rate_at(built.global_step, options);
  tf::train::MomentumOptimizer optimizer(built.learning_rate, kMomentum);
  std::vector<Fetch> train_op{
      optimizer.apply_gradients(built.grads, {.global_step = built.global_step})};
  train_op.insert(train_op.end(), update_ops.begin(), update_ops.end());
  built.train_op = tf::group(train_op);
  add_predictions(towers);
  built.loss = tf::reduce_mean(built.losses, {.name = "loss"});
  return built;
}

}  // namespace towerflow::models::resnet20
