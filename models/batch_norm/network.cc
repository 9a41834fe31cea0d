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

}  // namespace

Tensor inference(const Tensor& images, bool training) {
  Tensor x = as_images(images);
  x = conv("conv1", x, 16, training);
  x = conv("conv2", x, 32, training);
  return classified(x);
}

std::vector<Tensor> synchronised_inference(const tf::parallel::Lockstep& towers,
                                           const std::vector<Tensor>& images) {
  std::vector<Tensor> x =
      towers.each([&](int tower) { return as_images(images[static_cast<std::size_t>(tower)]); });
  x = synchronised_conv(towers, "conv1", x, 16);
  x = synchronised_conv(towers, "conv2", x, 32);
  return towers.each([&](int tower) { return classified(x[static_cast<std::size_t>(tower)]); });
}

}  // namespace towerflow::models::batch_norm
