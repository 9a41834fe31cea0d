#include <optional>
#include <regex>

#include "models/cifar10/cifar10.h"
#include "towerflow/tf.h"

namespace towerflow::models::cifar10 {
namespace {

/// Creates a variable in CPU memory, whatever device the tower is on.
Variable variable_on_cpu(const std::string& name, const Shape& shape, Initializer initializer) {
  const auto device = tf::device("/cpu:0");
  return tf::get_variable(name, shape, {.initializer = std::move(initializer)});
}

/// Creates weights and, with `wd`, adds wd * l2_loss(weights) to collection `losses`.
Variable variable_with_weight_decay(const std::string& name, const Shape& shape, double stddev,
                                    std::optional<double> wd = std::nullopt) {
  const Variable var =
      variable_on_cpu(name, shape, tf::truncated_normal_initializer({.stddev = stddev}));
  if (wd) {
    const Tensor decay = tf::multiply(tf::nn::l2_loss(var), *wd, {.name = "weight_loss"});
    tf::add_to_collection("losses", decay);
  }
  return var;
}

}  // namespace

void summarize(LaterSummaries* later, const std::function<void()>& add) {
  if (later == nullptr) return add();
  later->push_back(add);
}

std::string tag_of(const Tensor& tensor) {
  static const std::regex tower(std::string(kTowerName) + "_[0-9]*/");
  return std::regex_replace(tensor.op().name(), tower, "");
}

Tensor inference(const Tensor& images, LaterSummaries* later) {
  const auto activation_summary = [later](const Tensor& x) {
    summarize(later, [x, tag = tag_of(x)] {
      tf::summary::histogram(tag + "/activations", x);
      tf::summary::scalar(tag + "/sparsity", tf::nn::zero_fraction(x));
    });
  };
  const Tensor conv1 = tf::with(tf::variable_scope("conv1"), [&](auto& scope) {
    const Variable kernel = variable_with_weight_decay("weights", {5, 5, 3, 64}, 5e-2);
    const Tensor conv = tf::nn::conv2d(images, kernel, {1, 1, 1, 1}, "SAME");
    const Variable biases = variable_on_cpu("biases", {64}, tf::constant_initializer(0.0));
    const Tensor pre_activation = tf::nn::bias_add(conv, biases);
    const Tensor active = tf::nn::relu(pre_activation, {.name = scope.name()});
    activation_summary(active);
    return active;
  });
  const Tensor pool1 =
      tf::nn::max_pool(conv1, {1, 3, 3, 1}, {1, 2, 2, 1}, "SAME", {.name = "pool1"});
  const Tensor norm1 =
      tf::nn::lrn(pool1, 4, {.bias = 1.0, .alpha = 0.001 / 9.0, .beta = 0.75, .name = "norm1"});

  const Tensor conv2 = tf::with(tf::variable_scope("conv2"), [&](auto& scope) {
    const Variable kernel = variable_with_weight_decay("weights", {5, 5, 64, 64}, 5e-2);
    const Tensor conv = tf::nn::conv2d(norm1, kernel, {1, 1, 1, 1}, "SAME");
    const Variable biases = variable_on_cpu("biases", {64}, tf::constant_initializer(0.1));
    const Tensor pre_activation = tf::nn::bias_add(conv, biases);
    const Tensor active = tf::nn::relu(pre_activation, {.name = scope.name()});
    activation_summary(active);
    return active;
  });
  const Tensor norm2 =
      tf::nn::lrn(conv2, 4, {.bias = 1.0, .alpha = 0.001 / 9.0, .beta = 0.75, .name = "norm2"});
  const Tensor pool2 =
      tf::nn::max_pool(norm2, {1, 3, 3, 1}, {1, 2, 2, 1}, "SAME", {.name = "pool2"});

  const Tensor local3 = tf::with(tf::variable_scope("local3"), [&](auto& scope) {
    // Flattens all features, so that one matrix product suffices.
    const Tensor flat = tf::reshape(pool2, {-1, 6 * 6 * 64});
    const Variable weights =
        variable_with_weight_decay("weights", {flat.get_shape()[1], 384}, 0.04, 0.004);
    const Variable biases = variable_on_cpu("biases", {384}, tf::constant_initializer(0.1));
    const Tensor active = tf::nn::relu(tf::matmul(flat, weights) + biases, {.name = scope.name()});
    activation_summary(active);
    return active;
  });
  const Tensor local4 = tf::with(tf::variable_scope("local4"), [&](auto& scope) {
    const Variable weights = variable_with_weight_decay("weights", {384, 192}, 0.04, 0.004);
    const Variable biases = variable_on_cpu("biases", {192}, tf::constant_initializer(0.1));
    const Tensor active =
        tf::nn::relu(tf::matmul(local3, weights) + biases, {.name = scope.name()});
    activation_summary(active);
    return active;
  });

  // No softmax here: the loss takes unscaled logits and applies it itself.
  return tf::with(tf::variable_scope("softmax_linear"), [&](auto& scope) {
    const Variable weights = variable_with_weight_decay("weights", {192, kClasses}, 1 / 192.0);
    const Variable biases = variable_on_cpu("biases", {kClasses}, tf::constant_initializer(0.0));
    const Tensor softmax_linear =
        tf::add(tf::matmul(local4, weights), biases, {.name = scope.name()});
    activation_summary(softmax_linear);
    return softmax_linear;
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

}  // namespace towerflow::models::cifar10
