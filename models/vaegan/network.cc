#include <cmath>

#include "models/vaegan/vaegan.h"
#include "towerflow/tf.h"

namespace towerflow::models::vaegan {
namespace {

constexpr double kVarianceEpsilon = 0.001;

using Activation = Tensor (*)(const Tensor& x);

Tensor elu(const Tensor& x) { return tf::nn::elu(x); }
Tensor sigmoid(const Tensor& x) { return tf::sigmoid(x); }

Initializer xavier_init(std::int64_t inputs, std::int64_t outputs) {
  const double range = std::sqrt(6.0 / static_cast<double>(inputs + outputs));
  return tf::random_uniform_initializer({.minval = -range, .maxval = range});
}

Variable moving_moment(const std::string& name, std::int64_t size, double start) {
  return tf::get_variable(name, {size},
                          {.initializer = tf::constant_initializer(start), .trainable = false});
}

Operation move(const Variable& average, const Tensor& value, const Operand& rate) {
  const Tensor update = tf::assign_sub(average, rate * (average - value));
  tf::add_to_collection(tf::GraphKeys::UPDATE_OPS, update);
  return update.op();
}

Tensor batch_normalize(const Tensor& x, const Pass& pass) {
  const auto scope = tf::variable_scope(std::nullopt, {.default_name = "batch_normalize"});
  const std::int64_t size = x.get_shape()[-1];
  const auto parameter = [&](const char* name, double start) {
    return tf::get_variable(name, {size}, {.initializer = tf::constant_initializer(start)});
  };
  const Variable beta = parameter("beta", 0.0), gamma = parameter("gamma", 1.0);
  nn::Moments moments;
  if (pass.training) moments = tf::nn::moments(x, {0, 1, 2});
  std::vector<Operation> moves;
  if (pass.rate || !pass.training) {
    // Passes after a network's first one reuse its variables, but make averages of their own.
    const auto own = tf::variable_scope(pass.name, {.reuse = tf::AUTO_REUSE});
    const Variable mean = moving_moment("moving_mean", size, 0.0);
    const Variable variance = moving_moment("moving_variance", size, 1.0);
    if (pass.training) {
      moves = {move(mean, moments.mean, *pass.rate), move(variance, moments.variance, *pass.rate)};
    } else {
      moments = {mean, variance};
    }
  }
  if (!pass.waits) moves.clear();
  const auto after = tf::control_dependencies(moves);
  return tf::nn::batch_normalization(x, moments.mean, moments.variance, beta, gamma,
                                     kVarianceEpsilon);
}

Tensor conv2d(const Tensor& x, int kernel, std::int64_t depth, int stride, const Pass& pass) {
  const auto scope = tf::variable_scope(std::nullopt, {.default_name = "conv2d"});
  const std::int64_t inputs = x.get_shape()[3], patch_size = kernel * kernel;
  const Variable params =
      tf::get_variable("weights", {kernel, kernel, inputs, depth},
                       {.initializer = xavier_init(inputs * patch_size, depth * patch_size)});
  const Tensor y = tf::nn::conv2d(x, params, {1, stride, stride, 1}, "SAME");
  const Variable bias = tf::get_variable("bias", {depth}, {.initializer = tf::zeros_initializer()});
  return elu(batch_normalize(y + bias, pass));
}

Tensor deconv2d(const Tensor& x, int kernel, std::int64_t depth, int stride, const Pass& pass,
                Activation activation_fn = elu) {
  const auto scope = tf::variable_scope(std::nullopt, {.default_name = "deconv2d"});
  const Shape from = x.get_shape();
  const std::int64_t patch_size = kernel * kernel;
  const Variable params =
      tf::get_variable("weights", {kernel, kernel, depth, from[3]},
                       {.initializer = xavier_init(depth * patch_size, from[3] * patch_size)});
  const std::int64_t rows = from[1] * stride, columns = from[2] * stride;
  // The number of images is known but in an evaluation, whose last batch may be smaller.
  const Operand shape = from[0] == None
                            ? Operand(tf::stack({tf::shape(x)[0], rows, columns, depth}))
                            : Operand(shape_to_array({from[0], rows, columns, depth}));
  const Tensor y = tf::nn::conv2d_transpose(x, params, shape, {1, stride, stride, 1}, "SAME");
  const Variable bias = tf::get_variable("bias", {depth}, {.initializer = tf::zeros_initializer()});
  return activation_fn(batch_normalize(y + bias, pass));
}

/// A layer without batch normalization.
Tensor fully_connected(const Tensor& x, std::int64_t size, Activation activation_fn = nullptr) {
  const auto scope = tf::variable_scope(std::nullopt, {.default_name = "fully_connected"});
  const std::int64_t inputs = x.get_shape()[1];
  const Variable params =
      tf::get_variable("weights", {inputs, size}, {.initializer = xavier_init(inputs, size)});
  const Tensor product = tf::matmul(x, params);
  const Tensor y =
      product + tf::get_variable("bias", {size}, {.initializer = tf::zeros_initializer()});
  return activation_fn == nullptr ? y : activation_fn(y);
}

Tensor images_of(const Tensor& x, std::int64_t side, std::int64_t channels) {
  return tf::reshape(x, {-1, side, side, channels});
}

Tensor flatten(const Tensor& x) {
  const Shape shape = x.get_shape();
  return tf::reshape(x, {-1, shape[1] * shape[2] * shape[3]});
}

}  // namespace

Sizes full_sizes() {
  return {.image_size = 64,
          .hidden_size = 2048,
          .encoder = {64, 128, 256},
          .generator = {256, 128, 32},
          .discriminator = {32, 128, 256, 256},
          .features = 1024};
}

Code encoder(const Tensor& x, const Sizes& sizes, const Pass& pass) {
  Tensor net = images_of(x, sizes.image_size, kChannels);
  for (const std::int64_t depth : sizes.encoder) net = conv2d(net, 5, depth, 2, pass);
  const Tensor lay_end = flatten(net);
  const Tensor z_mean = fully_connected(lay_end, sizes.hidden_size);
  return {z_mean, fully_connected(lay_end, sizes.hidden_size)};
}

Tensor generator(const Tensor& z, const Sizes& sizes, const Pass& pass) {
  const std::int64_t side = sizes.image_size >> sizes.generator.size();
  const std::int64_t depth_of_z = sizes.encoder.back();
  const Tensor codes = fully_connected(z, side * side * depth_of_z, elu);
  Tensor net = images_of(codes, side, depth_of_z);
  for (const std::int64_t depth : sizes.generator) net = deconv2d(net, 5, depth, 2, pass);
  return flatten(deconv2d(net, 1, kChannels, 1, pass, sigmoid));
}

Judgement discriminator(const Tensor& x, const Sizes& sizes, const Pass& pass) {
  Tensor net = images_of(x, sizes.image_size, kChannels);
  int stride = 1;
  for (const std::int64_t depth : sizes.discriminator) {
    net = conv2d(net, 5, depth, stride, pass);
    stride = 2;
  }
  const Tensor lth_layer = fully_connected(flatten(net), sizes.features, elu);
  return {fully_connected(lth_layer, 1, sigmoid), lth_layer};
}

}  // namespace towerflow::models::vaegan
