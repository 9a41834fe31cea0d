// tf::layers.
#include "layers/convolutional.h"
#include "layers/core.h"
#include "layers/normalization.h"
#include "layers/pooling.h"
#include "tests/golden/functions.h"
#include "tests/golden/handlers.h"

namespace towerflow::golden {
namespace {

layers::Steps steps_of(const Args& args, const char* key) {
  return args.has(key) ? layers::Steps(extents_of(args.value(key))) : layers::Steps(1);
}

int count(const Args& args, const char* key) {
  if (args.value(key).get_if<std::int64_t>() == nullptr) throw DoesNotCompile("a count no integer");
  return static_cast<int>(args.integer(key));
}

/// Sets the options that all layers with weights have.
template <class Options>
void set_common(const Args& args, Options& options) {
  if (const auto activation = activation_of(args, "activation")) options.activation = *activation;
  options.use_bias = args.flag("use_bias", true);
  if (const auto bias = initializer_argument(args, "bias_initializer")) {
    options.bias_initializer = *bias;
  }
  options.bias_regularizer = regularizer_of(args, "bias_regularizer");
  options.trainable = args.flag("trainable", true);
  options.name = args.text("name");
  options.reuse = reuse_of(args.value("reuse"));
}

template <class Options>
void set_kernel(const Args& args, Options& options) {
  options.kernel_initializer = initializer_argument(args, "kernel_initializer");
  options.kernel_regularizer = regularizer_of(args, "kernel_regularizer");
  options.kernel_constraint = constraint_of(args, "kernel_constraint");
}

template <class Options>
void set_window(const Args& args, Options& options) {
  options.strides = steps_of(args, "strides");
  options.padding = args.text("padding", "valid");
  options.data_format = args.text("data_format", "channels_last");
  options.dilation_rate = steps_of(args, "dilation_rate");
}

Value dense(Interpreter&, const Args& args) {
  layers::DenseOptions options;
  set_common(args, options);
  set_kernel(args, options);
  if (const auto regularizer = args.optional_text("activity_regularizer")) {
    options.activity_regularizer = [](const Tensor& y) -> std::optional<Tensor> {
      return 0.25 * nn::l2_loss(y);
    };
  }
  return layers::dense(args.operand("inputs"), count(args, "units"), options);
}

using Conv = Tensor (*)(const Operand&, int, const nn::Extents&, layers::ConvOptions, Site);

Handler convolution(Conv function) {
  return [function](Interpreter&, const Args& args) -> Value {
    layers::ConvOptions options;
    set_common(args, options);
    set_kernel(args, options);
    set_window(args, options);
    return function(args.operand("inputs"), count(args, "filters"),
                    extents_of(args.value("kernel_size")), options, Site::current());
  };
}

Value separable(Interpreter&, const Args& args) {
  layers::SeparableConvOptions options;
  set_common(args, options);
  set_window(args, options);
  options.depth_multiplier = static_cast<int>(args.integer("depth_multiplier", 1));
  options.depthwise_initializer = initializer_argument(args, "depthwise_initializer");
  options.pointwise_initializer = initializer_argument(args, "pointwise_initializer");
  options.depthwise_regularizer = regularizer_of(args, "depthwise_regularizer");
  options.pointwise_regularizer = regularizer_of(args, "pointwise_regularizer");
  return layers::separable_conv2d(args.operand("inputs"), count(args, "filters"),
                                  extents_of(args.value("kernel_size")), options);
}

Value batch_normalization(Interpreter&, const Args& args) {
  layers::BatchNormalizationLayerOptions options;
  if (args.has("axis")) options.axis = extents_of(args.value("axis"));
  options.momentum = args.number("momentum", 0.99);
  options.epsilon = args.number("epsilon", 1e-3);
  options.center = args.flag("center", true);
  options.scale = args.flag("scale", true);
  options.gamma_regularizer = regularizer_of(args, "gamma_regularizer");
  options.training = args.flag("training");
  options.trainable = args.flag("trainable", true);
  options.fused = args.optional_flag("fused");
  options.name = args.text("name");
  options.reuse = reuse_of(args.value("reuse"));
  return layers::batch_normalization(args.operand("inputs"), options);
}

Value dropout(Interpreter&, const Args& args) {
  layers::DropoutLayerOptions options;
  options.seed = args.optional_integer("seed");
  options.training = args.flag("training");
  options.name = args.text("name");
  return layers::dropout(args.operand("inputs"), args.number("rate", 0.5), options);
}

Value flatten(Interpreter&, const Args& args) {
  return layers::flatten(
      args.operand("inputs"),
      {.name = args.text("name"), .data_format = args.text("data_format", "channels_last")});
}

using Pool = Tensor (*)(const Operand&, const nn::Extents&, const nn::Extents&,
                        layers::PoolingLayerOptions, Site);

Handler pooling(Pool function) {
  return [function](Interpreter&, const Args& args) -> Value {
    layers::PoolingLayerOptions options;
    options.padding = args.text("padding", "valid");
    options.data_format = args.text("data_format", "channels_last");
    options.name = args.text("name");
    return function(args.operand("inputs"), extents_of(args.value("pool_size")),
                    extents_of(args.value("strides")), options, Site::current());
  };
}

}  // namespace

void add_keras_handlers(HandlerTable& table) {
  table["layer_dense"] = dense;
  table["layer_conv1d"] = convolution(layers::conv1d);
  table["layer_conv2d"] = convolution(layers::conv2d);
  table["layer_conv2d_transpose"] = convolution(layers::conv2d_transpose);
  table["layer_separable_conv2d"] = separable;
  table["layer_batch_normalization"] = batch_normalization;
  table["layer_dropout"] = dropout;
  table["layer_flatten"] = flatten;
  table["layer_max_pooling1d"] = pooling(layers::max_pooling1d);
  table["layer_max_pooling2d"] = pooling(layers::max_pooling2d);
  table["layer_average_pooling1d"] = pooling(layers::average_pooling1d);
  table["layer_average_pooling2d"] = pooling(layers::average_pooling2d);
}

}  // namespace towerflow::golden
