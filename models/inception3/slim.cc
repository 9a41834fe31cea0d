#include "models/inception3/slim.h"

#include <numeric>

#include "towerflow/tf.h"

namespace towerflow::models::inception3::slim {
namespace {

constexpr double kWeightDecay = 0.00004;
constexpr double kBatchNormDecay = 0.9997;
constexpr double kBatchNormEpsilon = 0.001;
constexpr double kLabelSmoothing = 0.1;

/// Opens `scope`, or else the default name, made unique.
tf::VariableScopeGuard layer_scope(const std::string& scope, const char* default_name) {
  return scope.empty() ? tf::variable_scope(std::nullopt, {.default_name = default_name})
                       : tf::variable_scope(scope);
}

Variable variable(const std::string& name, const Shape& shape, GetVariableOptions options) {
  const auto device = tf::device("/cpu:0");
  if (!options.collections) options.collections.emplace();
  for (const char* key : {GraphKeys::GLOBAL_VARIABLES, MODEL_VARIABLES, VARIABLES_TO_RESTORE}) {
    options.collections->emplace_back(key);
  }
  return tf::get_variable(name, shape, std::move(options));
}

Tensor l2_regularizer(const Operand& variable) {
  const auto scope = tf::name_scope("L2Regularizer");
  const Tensor weights = tf::convert_to_tensor(variable);
  const Tensor weight =
      tf::convert_to_tensor(kWeightDecay, {.dtype = weights.dtype(), .name = "weight"});
  return tf::multiply(weight, tf::nn::l2_loss(weights), {.name = "value"});
}

Variable weights_of(DType dtype, const Shape& shape, double stddev) {
  return variable("weights", shape,
                  {.dtype = dtype,
                   .initializer = tf::truncated_normal_initializer({.stddev = stddev}),
                   .regularizer = l2_regularizer});
}

/// An average of a batch's moments.
Variable moving_average(const std::string& name, DType dtype, const Shape& shape,
                        Initializer initializer) {
  return variable(name, shape,
                  {.dtype = dtype,
                   .initializer = std::move(initializer),
                   .trainable = false,
                   .collections = {{"moving_vars", GraphKeys::MOVING_AVERAGE_VARIABLES}}});
}

bool is_weights(const Variable& variable) { return variable.op().name().ends_with("/weights"); }

}  // namespace

std::vector<Tensor> weight_decays() {
  std::vector<Tensor> decays;
  for (const Variable& weights : tf::trainable_variables()) {
    if (!is_weights(weights)) continue;
    const auto scope = tf::name_scope(weights.op().name() + "/Regularizer");
    decays.push_back(l2_regularizer(weights));
  }
  return decays;
}

Tensor batch_norm(const Tensor& inputs, bool is_training) {
  const auto scope = tf::variable_scope(std::nullopt, {.default_name = "BatchNorm"});
  const Shape shape{inputs.get_shape()[-1]};
  const DType dtype = inputs.dtype();
  const Variable beta =
      variable("beta", shape, {.dtype = dtype, .initializer = tf::zeros_initializer()});
  const Variable moving_mean = moving_average("moving_mean", dtype, shape, tf::zeros_initializer());
  const Variable moving_variance =
      moving_average("moving_variance", dtype, shape, tf::ones_initializer());
  if (!is_training) {
    return tf::nn::batch_normalization(inputs, moving_mean, moving_variance, beta, std::nullopt,
                                       kBatchNormEpsilon);
  }
  std::vector<int> axes(inputs.shape().rank() - 1);
  std::iota(axes.begin(), axes.end(), 0);
  const auto [mean, variance] = tf::nn::moments(inputs, axes);
  const Tensor new_mean = tf::train::assign_moving_average(moving_mean, mean, kBatchNormDecay);
  tf::add_to_collection(UPDATE_OPS_COLLECTION, new_mean);
  const Tensor new_variance =
      tf::train::assign_moving_average(moving_variance, variance, kBatchNormDecay);
  tf::add_to_collection(UPDATE_OPS_COLLECTION, new_variance);
  layers::add_batch_moments({.moving_mean = moving_mean,
                             .moving_variance = moving_variance,
                             .sample = {mean, variance, inputs, axes},
                             .momentum = kBatchNormDecay,
                             .mean_update = new_mean.op(),
                             .variance_update = new_variance.op()});
  return tf::nn::batch_normalization(inputs, mean, variance, beta, std::nullopt, kBatchNormEpsilon);
}

Tensor conv2d(const Tensor& inputs, int filters, Kernel kernel, bool is_training,
              const ConvOptions& options) {
  const auto scope = layer_scope(options.scope, "Conv");
  const Variable weights = weights_of(
      inputs.dtype(), {kernel[0], kernel[1], inputs.get_shape()[-1], filters}, options.stddev);
  const Tensor conv =
      tf::nn::conv2d(inputs, weights, {1, options.stride, options.stride, 1}, options.padding);
  return tf::nn::relu(batch_norm(conv, is_training));
}

Tensor fc(const Tensor& inputs, std::int64_t units, const FcOptions& options) {
  const auto scope = layer_scope(options.scope, "FC");
  const Variable weights =
      weights_of(inputs.dtype(), {inputs.get_shape()[1], units}, options.stddev);
  const Variable biases = variable(
      "biases", {units}, {.dtype = inputs.dtype(), .initializer = tf::constant_initializer(0.0)});
  return tf::nn::xw_plus_b(inputs, weights, biases);
}

Tensor max_pool(const Tensor& inputs, Kernel kernel, const PoolOptions& options) {
  const auto scope = tf::name_scope(options.scope.empty() ? "MaxPool" : options.scope);
  return tf::nn::max_pool(inputs, {1, kernel[0], kernel[1], 1},
                          {1, options.stride, options.stride, 1}, options.padding);
}

Tensor avg_pool(const Tensor& inputs, Kernel kernel, const PoolOptions& options) {
  const auto scope = tf::name_scope(options.scope.empty() ? "AvgPool" : options.scope);
  return tf::nn::avg_pool(inputs, {1, kernel[0], kernel[1], 1},
                          {1, options.stride, options.stride, 1}, options.padding);
}

Tensor flatten(const Tensor& inputs, const std::string& scope) {
  std::int64_t k = 1;
  for (std::size_t i = 1; i < inputs.shape().rank(); ++i) k *= inputs.shape().size(i);
  const auto names = tf::name_scope(scope);
  return tf::reshape(inputs, {-1, k});
}

void cross_entropy_loss(const Tensor& logits, const Tensor& one_hot_labels, double weight,
                        const std::string& scope) {
  const auto names = tf::name_scope(scope);
  const auto num_classes = static_cast<double>(one_hot_labels.shape().size(1));
  Tensor labels = tf::cast(one_hot_labels, logits.dtype());
  labels = labels * (1.0 - kLabelSmoothing) + kLabelSmoothing / num_classes;
  const Tensor cross_entropy = tf::nn::softmax_cross_entropy_with_logits(
      {.labels = labels, .logits = logits, .name = "xentropy"});
  const Tensor loss_weight =
      tf::convert_to_tensor(weight, {.dtype = logits.dtype(), .name = "loss_weight"});
  const Tensor value = tf::multiply(loss_weight, tf::reduce_mean(cross_entropy), {.name = "value"});
  tf::add_to_collection(LOSSES_COLLECTION, value);
}

}  // namespace towerflow::models::inception3::slim
