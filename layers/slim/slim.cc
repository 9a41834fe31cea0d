#include "layers/slim/slim.h"

#include <fmt/format.h>

#include "core/graph/op_builder.h"
#include "layers/convolutional.h"
#include "layers/core.h"
#include "layers/pooling.h"
#include "layers/slim/variables.h"
#include "ops/array/cast.h"
#include "ops/array/indexed_slices.h"
#include "ops/array/one_hot.h"
#include "ops/array/shape_of.h"
#include "ops/array/view.h"
#include "ops/nn/relu.h"
#include "ops/nn/softmax.h"

namespace towerflow::slim {
namespace {

constexpr const char* kPoolArgs = " stride padding data_format outputs_collections scope ";

Tensor as_tensor(const Operand& inputs, Site site) {
  return inputs.tensor() != nullptr ? *inputs.tensor() : convert_to_tensor(inputs, {}, site);
}

/// Returns "channels_first" or "channels_last". Throws ValueError for an unknown format.
std::string keras_format(const Arg<std::string>& format, std::initializer_list<const char*> known,
                         const char* function, Site site) {
  const std::string text = format.or_default("NHWC");
  for (const char* one : known) {
    if (text == one) return text.starts_with("NC") ? "channels_first" : "channels_last";
  }
  throw ValueError(fmt::format("Invalid data_format: '{}'", text),
                   {.site = site, .op = function, .hint = "it is NHWC or NCHW"});
}

/// Normalizes or not, applies the activation, and lists the result.
Tensor finished(Tensor x, const Args& args, Site site) {
  if (args.normalizer_fn.or_default({})) {
    x = args.normalizer_fn.value()(x, args.normalizer_params.or_default({}).args(), site);
  }
  const Activation activation = args.activation_fn.or_default(Activation(&nn::relu));
  if (activation) x = activation(x, site);
  return listed_output(x, args);
}

bool has_biases(const Args& args) {
  return !args.normalizer_fn.or_default({}) &&
         args.biases_initializer.or_default(zeros_initializer()).has_value();
}

template <class LayerArgs>
LayerArgs weight_options(const Args& args, const VariableScopeHandle& scope, DType dtype) {
  LayerArgs options;
  options.use_bias = has_biases(args);
  options.kernel_initializer = args.weights_initializer.or_default(xavier_initializer());
  options.bias_initializer = args.biases_initializer.or_default(zeros_initializer());
  options.kernel_regularizer = args.weights_regularizer.or_default({});
  options.bias_regularizer = args.biases_regularizer.or_default({});
  options.trainable = args.trainable.or_default(true);
  options.name = scope.name();
  options.reuse = args.reuse.or_default(Reuse(std::nullopt));
  options.scope = scope;
  options.dtype = dtype;
  return options;
}

template <class Pool>
Tensor pooled(const Operand& inputs, const nn::Extents& kernel_size, const Args& args,
              const char* scope_name, const char* function, Site site) {
  const DefaultGraphGuard graph(graph_of(inputs));
  const std::string format = keras_format(args.data_format, {"NHWC", "NCHW"}, function, site);
  const NameScope scope(get_default_graph(), args.scope.or_default(scope_name), site);
  const Tensor x = as_tensor(inputs, site);
  const Pool layer(
      kernel_size, args.stride.or_default(2),
      {.padding = args.padding.or_default("VALID"), .data_format = format, .scope = scope.name()},
      site);
  return listed_output(layer(Operand(x, site), site), args);
}

}  // namespace

Tensor conv2d(const Operand& inputs, int num_outputs, const nn::Extents& kernel_size, Args given,
              Site site) {
  const Args args = scoped_args(
      &conv2d, "conv2d",
      " stride padding data_format rate activation_fn normalizer_fn normalizer_params "
      "weights_initializer weights_regularizer biases_initializer biases_regularizer reuse "
      "variables_collections outputs_collections trainable scope ",
      given, site);
  const DefaultGraphGuard graph(graph_of(inputs));
  const std::string format = keras_format(
      args.data_format, {"NWC", "NCW", "NHWC", "NCHW", "NDHWC", "NCDHW"}, "conv2d", site);
  const VariableScopeGuard scope = open_layer_scope(
      args, "Conv", model_variable_getter({{"bias", "biases"}, {"kernel", "weights"}}), site);
  const Tensor x = as_tensor(inputs, site);
  if (x.shape().has_rank() ? x.shape().rank() != 4 : true) {
    throw ValueError(fmt::format("Convolution expects input with rank 4, got {}",
                                 x.shape().has_rank() ? std::to_string(x.shape().rank()) : "None"),
                     {.site = site, .op = "conv2d"});
  }
  auto options = weight_options<layers::ConvOptions>(args, scope, x.dtype());
  options.strides = layers::Steps(args.stride.or_default(1));
  options.padding = args.padding.or_default("SAME");
  options.data_format = format;
  options.dilation_rate = layers::Steps(args.rate.or_default(1));
  const layers::Conv2D layer(num_outputs, kernel_size, std::move(options), site);
  const Tensor result = layer(Operand(x, site), site);
  list_variable(layer.kernel(), "weights", args);
  list_variable(layer.bias(), "biases", args);
  return finished(result, args, site);
}

Tensor fully_connected(const Operand& inputs, int num_outputs, Args given, Site site) {
  const Args args = scoped_args(
      &fully_connected, "fully_connected",
      " activation_fn normalizer_fn normalizer_params weights_initializer weights_regularizer "
      "biases_initializer biases_regularizer reuse variables_collections outputs_collections "
      "trainable scope ",
      given, site);
  const DefaultGraphGuard graph(graph_of(inputs));
  const VariableScopeGuard scope =
      open_layer_scope(args, "fully_connected",
                       model_variable_getter({{"bias", "biases"}, {"kernel", "weights"}}), site);
  const Tensor x = as_tensor(inputs, site);
  const layers::Dense layer(num_outputs,
                            weight_options<layers::DenseOptions>(args, scope, x.dtype()), site);
  const Tensor result = layer(Operand(x, site), site);
  list_variable(layer.kernel(), "weights", args);
  list_variable(layer.bias(), "biases", args);
  return finished(result, args, site);
}

Tensor max_pool2d(const Operand& inputs, const nn::Extents& kernel_size, Args given, Site site) {
  const Args args = scoped_args(&max_pool2d, "max_pool2d", kPoolArgs, given, site);
  return pooled<layers::MaxPooling2D>(inputs, kernel_size, args, "MaxPool2D", "max_pool2d", site);
}

Tensor avg_pool2d(const Operand& inputs, const nn::Extents& kernel_size, Args given, Site site) {
  const Args args = scoped_args(&avg_pool2d, "avg_pool2d", kPoolArgs, given, site);
  return pooled<layers::AveragePooling2D>(inputs, kernel_size, args, "AvgPool2D", "avg_pool2d",
                                          site);
}

Tensor dropout(const Operand& inputs, Args given, Site site) {
  const Args args = scoped_args(
      &dropout, "dropout", " keep_prob noise_shape is_training outputs_collections scope seed ",
      given, site);
  const DefaultGraphGuard graph(graph_of(inputs));
  const VariableScopeGuard scope =
      open_layer_scope(args, "Dropout", model_variable_getter({}), site);
  const Tensor x = as_tensor(inputs, site);
  layers::DropoutLayerOptions options;
  if (args.noise_shape.given()) options.noise_shape = args.noise_shape.value();
  if (args.seed.given()) options.seed = args.seed.value();
  options.training = args.is_training.or_default(true);
  options.name = scope.name();
  options.scope = VariableScopeHandle(scope);
  const layers::Dropout layer(1.0 - args.keep_prob.or_default(0.5), std::move(options), site);
  return listed_output(layer(Operand(x, site), site), args);
}

Tensor flatten(const Operand& inputs, Args given, Site site) {
  const Args args = scoped_args(&flatten, "flatten", " outputs_collections scope ", given, site);
  const DefaultGraphGuard graph(graph_of(inputs));
  const NameScope scope(get_default_graph(), args.scope.or_default("Flatten"), site);
  const Tensor x = as_tensor(inputs, site);
  return listed_output(layers::flatten(Operand(x, site), {}, site), args);
}

Tensor one_hot_encoding(const Operand& labels, int num_classes, Args given, Site site) {
  const Args args = scoped_args(&one_hot_encoding, "one_hot_encoding",
                                " on_value off_value outputs_collections scope ", given, site);
  const DefaultGraphGuard graph(graph_of(labels));
  const NameScope scope(get_default_graph(), args.scope.or_default("OneHotEncoding"), site);
  Tensor classes = as_tensor(labels, site);
  if (classes.dtype() == DType::int32) {
    classes = cast(Operand(classes, site), DType::int64, {.name = "ToInt64"}, site);
  }
  const Tensor rows = one_hot(Operand(classes, site), ScalarOperand(num_classes, site),
                              {.on_value = Operand(args.on_value.or_default(1.0), site),
                               .off_value = Operand(args.off_value.or_default(0.0), site)},
                              site);
  return listed_output(rows, args);
}

Tensor softmax(const Operand& logits, Args given, Site site) {
  const Args args = scoped_args(&softmax, "softmax", " scope ", given, site);
  const DefaultGraphGuard graph(graph_of(logits));
  const VariableScopeGuard scope = open_layer_scope(args, "softmax", {}, site);
  const Tensor x = as_tensor(logits, site);
  const Shape shape = x.shape();
  if (!shape.has_rank() || shape.rank() < 2 || !shape[-1].known()) {
    throw ValueError(fmt::format("the rank of logits must be at least 2 and their last dimension "
                                 "known, but their shape is {}",
                                 shape.text()),
                     {.site = site, .node = x.op().name(), .op = "softmax"});
  }
  const Operand matrix(Nested({-1, shape.size(-1)}), site);
  const Tensor rows = reshape(Operand(x, site), matrix, {}, site);
  const Tensor probabilities = nn::softmax(Operand(rows, site), {}, site);
  const Tensor sizes = towerflow::shape(Operand(x, site), {}, site);
  Tensor result = reshape(Operand(probabilities, site), Operand(sizes, site), {}, site);
  result.set_shape(shape, site);
  return result;
}

}  // namespace towerflow::slim
