#include <fmt/format.h>

#include "models/cnn/cnn.h"

namespace towerflow::models::cnn {

std::string ConvNetBuilder::next_name(const std::string& kind) {
  return fmt::format("{}{}", kind, counts_[kind]++);
}

Tensor ConvNetBuilder::conv(int filters, int size, const ConvOptions& options) {
  const auto scope = tf::variable_scope(next_name("conv"));
  std::string padding = options.padding;
  if (padding == "SAME_RESNET") {
    // Pads by the kernel alone, whatever the size of the image.
    if (options.stride > 1) {
      const int before = (size - 1) / 2, behind = size - 1 - before;
      top = tf::pad(top, {{0, 0}, {before, behind}, {before, behind}, {0, 0}});
    }
    padding = options.stride > 1 ? "VALID" : "SAME";
  }
  top = tf::layers::conv2d(
      top, filters, size,
      {.strides = options.stride, .padding = padding, .use_bias = false, .name = "conv2d"});
  if (options.batch_norm) {
    top = tf::slim::batch_norm(top, {.decay = 0.9,
                                     .scale = true,
                                     .epsilon = 1e-5,
                                     .is_training = training_,
                                     .fused = top.dtype() == tf::float32,
                                     .scope = next_name("batchnorm")});
  } else {
    const Variable biases = tf::get_variable(
        "biases", {filters}, {.dtype = top.dtype(), .initializer = tf::zeros_initializer()});
    top = tf::nn::bias_add(top, biases);
  }
  if (options.relu) top = tf::nn::relu(top);
  return top;
}

Tensor ConvNetBuilder::max_pool(int size, int stride, const std::string& padding) {
  return top = tf::layers::max_pooling2d(top, size, stride,
                                         {.padding = padding, .name = next_name("mpool")});
}

Tensor ConvNetBuilder::affine(int units, bool relu) {
  const auto scope = tf::variable_scope(next_name("affine"));
  if (top.shape().rank() != 2) top = tf::layers::flatten(top);
  const auto inputs = static_cast<int>(top.shape().size(1));
  // He et al. 2015, or its linear counterpart for the last layer.
  const double stddev = std::sqrt((relu ? 2.0 : 1.0) / inputs);
  const Variable weights = tf::get_variable(
      "weights", {inputs, units},
      {.dtype = top.dtype(),
       .initializer = tf::truncated_normal_initializer({.mean = 0.0, .stddev = stddev})});
  const Variable biases = tf::get_variable(
      "biases", {units}, {.dtype = top.dtype(), .initializer = tf::zeros_initializer()});
  top = tf::nn::bias_add(tf::matmul(top, weights), biases);
  if (relu) top = tf::nn::relu(top);
  return top;
}

Tensor ConvNetBuilder::dropout() {
  const auto scope = tf::variable_scope(next_name("dropout"));
  return top = tf::layers::dropout(top, {.rate = 0.5, .training = training_});
}

Tensor ConvNetBuilder::spatial_mean() {
  const auto scope = tf::name_scope(next_name("spatial_mean"));
  return top = tf::reduce_mean(top, {1, 2});
}

}  // namespace towerflow::models::cnn
