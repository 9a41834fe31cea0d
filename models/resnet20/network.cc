#include <fmt/format.h>

#include <array>
#include <utility>

#include "models/resnet20/resnet20.h"
#include "towerflow/tf.h"

namespace towerflow::models::resnet20 {
namespace {

constexpr std::array<int, 4> kFilters{16, 16, 32, 64};
constexpr std::array<int, 3> kStrides{1, 2, 2};

int units_of(int num_layers) {
  if (num_layers >= 8 && num_layers % 6 == 2) return (num_layers - 2) / 6;
  throw ValueError(fmt::format("a residual network cannot have {} layers", num_layers),
                   {.hint = "the depth is 6 n + 2: 8, 20, 32, 44, 56, 110"});
}

}  // namespace

ResNetCifar10::ResNetCifar10(int num_layers, bool is_training, std::string data_format)
    : n_(units_of(num_layers)), is_training_(is_training), data_format_(std::move(data_format)) {}

Tensor ResNetCifar10::forward_pass(Tensor x) {
  if (channels_first()) x = tf::transpose(x, {0, 3, 1, 2});
  x = x / 128 - 1;
  x = conv(x, 3, 16, 1);
  x = batch_norm(x);
  x = tf::nn::relu(x);
  for (std::size_t i = 0; i < 3; ++i) {
    const auto stage = tf::name_scope("stage");
    for (int j = 0; j < n_; ++j) {
      // Only the first unit of a stage changes the number of channels and the size.
      x = j == 0 ? residual_v1(x, 3, kFilters[i], kFilters[i + 1], kStrides[i])
                 : residual_v1(x, 3, kFilters[i + 1], kFilters[i + 1], 1);
    }
  }
  {
    const auto scope = tf::name_scope("global_avg_pool");
    x = channels_first() ? tf::reduce_mean(x, {2, 3}) : tf::reduce_mean(x, {1, 2});
  }
  const auto scope = tf::name_scope("fully_connected");
  return tf::layers::dense(x, kClasses);
}

/// Two convolutions and a shortcut. Where the shape changes, the shortcut is a smaller image with
/// channels of zeros on both sides.
Tensor ResNetCifar10::residual_v1(const Tensor& input, int kernel_size, int in_filter,
                                  int out_filter, int stride) {
  const auto scope = tf::name_scope("residual_v1");
  Tensor orig_x = input;
  Tensor x = conv(input, kernel_size, out_filter, stride);
  x = batch_norm(x);
  x = tf::nn::relu(x);
  x = conv(x, kernel_size, out_filter, 1);
  x = batch_norm(x);
  if (in_filter != out_filter) {
    {
      const auto avg_pool = tf::name_scope("avg_pool");
      orig_x = tf::layers::average_pooling2d(orig_x, stride, stride,
                                             {.padding = "SAME", .data_format = data_format_});
    }
    const int pad = (out_filter - in_filter) / 2;
    orig_x = padded(orig_x, pad, pad, true);
  }
  return tf::nn::relu(tf::add(x, orig_x));
}

Tensor ResNetCifar10::conv(Tensor x, int kernel_size, int filters, int strides) const {
  std::string padding = "SAME";
  if (strides > 1) {
    // Pads by the kernel alone, whatever the size of the image.
    const int before = (kernel_size - 1) / 2;
    x = padded(x, before, kernel_size - 1 - before, false);
    padding = "VALID";
  }
  return tf::layers::conv2d(
      x, filters, kernel_size,
      {.strides = strides, .padding = padding, .data_format = data_format_, .use_bias = false});
}

Tensor ResNetCifar10::batch_norm(const Tensor& x) const {
  return tf::slim::batch_norm(x, {.data_format = channels_first() ? "NCHW" : "NHWC",
                                  .decay = kBatchNormDecay,
                                  .center = true,
                                  .scale = true,
                                  .epsilon = kBatchNormEpsilon,
                                  .is_training = is_training_,
                                  .fused = true});
}

Tensor ResNetCifar10::padded(const Tensor& x, int before, int behind, bool channels) const {
  const int spatial_before = channels ? 0 : before, spatial_behind = channels ? 0 : behind;
  const int channels_before = channels ? before : 0, channels_behind = channels ? behind : 0;
  if (channels_first()) {
    return tf::pad(x, {{0, 0},
                       {channels_before, channels_behind},
                       {spatial_before, spatial_behind},
                       {spatial_before, spatial_behind}});
  }
  return tf::pad(x, {{0, 0},
                     {spatial_before, spatial_behind},
                     {spatial_before, spatial_behind},
                     {channels_before, channels_behind}});
}

}  // namespace towerflow::models::resnet20
