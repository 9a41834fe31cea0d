#pragma once

#include <concepts>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "layers/layer.h"
#include "ops/nn/window_args.h"
#include "ops/variables/initializers.h"

namespace towerflow::layers::types {

/// Strides or rates: one number, or one for each dimension. Not nn::Extents, so that
/// `{.strides = 2}` is not taken for the size of a kernel.
class Steps {
 public:
  template <std::same_as<int> T>
  Steps(T all) : extents_(all) {}  // NOLINT: 2
  Steps(const std::initializer_list<int>& values) : extents_(std::vector<int>(values)) {}  // NOLINT
  explicit Steps(nn::Extents extents) : extents_(std::move(extents)) {}
  const nn::Extents& extents() const { return extents_; }

 private:
  nn::Extents extents_;
};

}  // namespace towerflow::layers::types

namespace towerflow::layers {

/// The options of a convolution after its kernel's size.
struct ConvOptions {
  ByName by_name = ByName();
  Steps strides = 1;
  std::string padding = "valid";  ///< or "same"; of conv1d also "causal": all padding is in front
  std::string data_format = "channels_last";  ///< or "channels_first"
  Steps dilation_rate = 1;                    ///< steps inside a window; of conv2d_transpose 1
  Activation activation{};
  bool use_bias = true;
  std::optional<Initializer> kernel_initializer{};  ///< default: the scope's, else Glorot uniform
  std::optional<Initializer> bias_initializer = zeros_initializer();
  Regularizer kernel_regularizer{};
  Regularizer bias_regularizer{};
  ActivityRegularizer activity_regularizer{};  ///< its loss is divided by the batch size
  Constraint kernel_constraint{};
  Constraint bias_constraint{};
  bool trainable = true;
  std::string name{};            ///< default: the function's name
  Reuse reuse = std::nullopt;    ///< Python's `_reuse` of the class
  std::optional<Scope> scope{};  ///< of an object only: Python's `_scope`
  std::optional<DType> dtype{};  ///< of an object only; default: that of its first input
};

/// The options of separable_conv2d.
struct SeparableConvOptions {
  ByName by_name = ByName();
  Steps strides = 1;
  std::string padding = "valid";              ///< or "same"
  std::string data_format = "channels_last";  ///< or "channels_first"
  Steps dilation_rate = 1;                    ///< steps inside a window
  int depth_multiplier = 1;                   ///< number of filters of each channel
  Activation activation{};
  bool use_bias = true;
  std::optional<Initializer>
      depthwise_initializer{};  ///< default: the scope's, else Glorot uniform
  std::optional<Initializer> pointwise_initializer{};
  std::optional<Initializer> bias_initializer = zeros_initializer();
  Regularizer depthwise_regularizer{};
  Regularizer pointwise_regularizer{};
  Regularizer bias_regularizer{};
  ActivityRegularizer activity_regularizer{};  ///< its loss is divided by the batch size
  Constraint depthwise_constraint{};
  Constraint pointwise_constraint{};
  Constraint bias_constraint{};
  bool trainable = true;
  std::string name{};            ///< default: "separable_conv2d"
  Reuse reuse = std::nullopt;    ///< Python's `_reuse` of the class
  std::optional<Scope> scope{};  ///< of an object only: Python's `_scope`
  std::optional<DType> dtype{};  ///< of an object only; default: that of its first input
};

/// Layers that slide a window over their inputs: activation(convolution(inputs, kernel) + bias).
/// They make or find the variables `kernel` and `bias` as `dense` does.
///
/// dtypes   float32, float64
/// grads    inputs, kernel, bias
/// errors   ValueError: ranks, sizes below 1, an unknown number of channels, a window larger than
///          the image, strides and rates that are both above 1, unknown padding or format;
///          UnimplementedError: a dilated conv2d_transpose
/// source   tf.layers.conv2d, ..

/// shapes   inputs [N,H,W,C], kernel [R,S,C,filters] -> [N,P,Q,filters] as nn::conv2d
Tensor conv2d(const Operand& inputs, int filters, const nn::Extents& kernel_size,
              ConvOptions options = {}, Site site = Site::current());

/// shapes   inputs [N,T,C], kernel [R,C,filters] -> [N,P,filters]
Tensor conv1d(const Operand& inputs, int filters, const nn::Extents& kernel_size,
              ConvOptions options = {}, Site site = Site::current());

/// The transposed convolution, which enlarges images.
///
/// shapes   inputs [N,P,Q,C], kernel [R,S,filters,C] -> [N,H,W,filters]; "valid":
///          H = P * stride + max(R - stride, 0), "same": H = P * stride
Tensor conv2d_transpose(const Operand& inputs, int filters, const nn::Extents& kernel_size,
                        ConvOptions options = {}, Site site = Site::current());

/// A convolution of each channel, then one of each pixel that mixes the channels.
///
/// shapes   inputs [N,H,W,C], depthwise_kernel [R,S,C,depth_multiplier], pointwise_kernel
///          [1,1,C * depth_multiplier,filters] -> [N,P,Q,filters] as nn::separable_conv2d
/// grads    inputs, depthwise_kernel, pointwise_kernel, bias
Tensor separable_conv2d(const Operand& inputs, int filters, const nn::Extents& kernel_size,
                        SeparableConvOptions options = {}, Site site = Site::current());

}  // namespace towerflow::layers

namespace towerflow::layers::types {

/// A convolution as an object.
class ConvLayer : public Layer {
 public:
  using Layer::Layer;
  /// Returns a weight; an invalid Variable before the first call, or if there is no bias.
  Variable kernel() const;
  Variable bias() const;
};

/// (tf.layers.Conv2D)
class Conv2D : public ConvLayer {
 public:
  Conv2D(int filters, const nn::Extents& kernel_size, ConvOptions options = {},
         Site site = Site::current());
};

/// (tf.layers.Conv1D)
class Conv1D : public ConvLayer {
 public:
  Conv1D(int filters, const nn::Extents& kernel_size, ConvOptions options = {},
         Site site = Site::current());
};

/// (tf.layers.Conv2DTranspose)
class Conv2DTranspose : public ConvLayer {
 public:
  Conv2DTranspose(int filters, const nn::Extents& kernel_size, ConvOptions options = {},
                  Site site = Site::current());
};

/// (tf.layers.SeparableConv2D)
class SeparableConv2D : public Layer {
 public:
  SeparableConv2D(int filters, const nn::Extents& kernel_size, SeparableConvOptions options = {},
                  Site site = Site::current());
  /// Returns a weight; an invalid Variable before the first call, or if there is no bias.
  Variable depthwise_kernel() const;
  Variable pointwise_kernel() const;
  Variable bias() const;
};

}  // namespace towerflow::layers::types
