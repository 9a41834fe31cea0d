// The calls of layers_cases.py.
#include <cmath>

#include "tests/layers/cases.h"

namespace towerflow::testing {
namespace {

using In = const LayerInputs&;
using Out = std::vector<Tensor>;
using namespace layers;

void add_dense(LayerCases& c) {
  c["dense"] = [](In t) -> Out { return {dense(t.x, 4)}; };
  c["dense unknown batch"] = [](In t) -> Out { return {dense(t.u, 4)}; };
  c["dense relu named"] = [](In t) -> Out {
    return {dense(t.x, 4, {.activation = nn::relu, .name = "fc"})};
  };
  c["dense no bias"] = [](In t) -> Out { return {dense(t.x, 4, {.use_bias = false})}; };
  c["dense rank 3"] = [](In t) -> Out { return {dense(t.s, 4, {.activation = tanh})}; };
  c["dense rank 3 unknown"] = [](In t) -> Out { return {dense(t.v, 4, {.activation = nn::tanh})}; };
  c["dense float64"] = [](In t) -> Out { return {dense(t.d, 2)}; };
  c["dense initializers"] = [](In t) -> Out {
    return {dense(t.x, 4,
                  {.kernel_initializer = truncated_normal_initializer({.stddev = 0.1}),
                   .bias_initializer = constant_initializer(0.1)})};
  };
  c["dense regularizers"] = [](In t) -> Out {
    return {dense(t.x, 4, {.kernel_regularizer = half_l2, .bias_regularizer = half_l2})};
  };
  c["dense keras regularizers"] = [](In t) -> Out {
    return {dense(t.x, 4,
                  {.kernel_regularizer = keras::regularizers::l2(0.1),
                   .bias_regularizer = keras::regularizers::l1(0.3)})};
  };
  c["dense keras regularizers float64"] = [](In t) -> Out {
    return {dense(t.d, 4,
                  {.kernel_regularizer = keras::regularizers::l1_l2(0.1, 0.3),
                   .bias_regularizer = keras::regularizers::l2(0.1)})};
  };
  c["dense keras regularizer 0"] = [](In t) -> Out {
    return {dense(t.x, 4,
                  {.kernel_regularizer = keras::regularizers::l1_l2(0.0, 0.3),
                   .bias_regularizer = keras::regularizers::l2(0.0)})};
  };
  c["dense keras regularizer nan"] = [](In t) -> Out {
    return {dense(t.x, 4, {.kernel_regularizer = keras::regularizers::l1(NAN)})};
  };
  c["dense activity regularizer"] = [](In t) -> Out {
    return {dense(t.x, 4, {.activity_regularizer = half_l2})};
  };
  c["dense constraint"] = [](In t) -> Out {
    return {dense(t.x, 4, {.kernel_constraint = doubled})};
  };
  c["dense not trainable"] = [](In t) -> Out { return {dense(t.x, 4, {.trainable = false})}; };
  c["dense twice"] = [](In t) -> Out {
    const Tensor first = dense(t.x, 4);
    return {first, dense(t.y, 4)};
  };
  c["dense negative"] = [](In t) -> Out { return {dense(t.x, -4)}; };
  c["dense rank 1"] = [](In) -> Out { return {dense(zeros({3}), 4)}; };
  c["dense unknown"] = [](In t) -> Out { return {dense(t.q, 4)}; };
  c["dense last unknown"] = [](In) -> Out {
    return {dense(placeholder(float32, {.shape = {2, None}}), 4)};
  };
  c["dense int"] = [](In t) -> Out { return {dense(t.i, 4)}; };
  c["dense sizes differ"] = [](In t) -> Out {
    const Dense layer(4);
    layer(t.x);
    return {layer(t.h)};
  };
}

void add_dense_scopes(LayerCases& c) {
  c["dense same name"] = [](In t) -> Out {
    const Tensor first = dense(t.x, 4, {.name = "fc"});
    return {first, dense(t.y, 4, {.name = "fc"})};
  };
  c["dense reuse"] = [](In t) -> Out {
    const Tensor first = dense(t.x, 4, {.name = "fc"});
    return {first, dense(t.y, 4, {.name = "fc", .reuse = true})};
  };
  c["dense reuse regularizer"] = [](In t) -> Out {
    const Tensor first = dense(t.x, 4, {.kernel_regularizer = half_l2, .name = "fc"});
    return {first, dense(t.y, 4, {.kernel_regularizer = half_l2, .name = "fc", .reuse = true})};
  };
  c["dense reuse missing"] = [](In t) -> Out {
    return {dense(t.x, 4, {.name = "fc", .reuse = true})};
  };
  c["dense reuse automatic"] = [](In t) -> Out {
    const Tensor first = dense(t.x, 4, {.name = "fc", .reuse = AUTO_REUSE});
    return {first, dense(t.y, 4, {.name = "fc", .reuse = AUTO_REUSE})};
  };
  c["dense reuse without name"] = [](In t) -> Out {
    const Tensor first = dense(t.x, 4);
    return {first, dense(t.y, 4, {.reuse = true})};
  };
  c["dense in scope"] = [](In t) -> Out {
    const auto scope = variable_scope("a");
    return {dense(t.x, 4)};
  };
  c["dense in scope twice"] = [](In t) -> Out {
    Out all;
    {
      const auto scope = variable_scope("a");
      all.push_back(dense(t.x, 4));
      all.push_back(dense(t.x, 4));
    }
    const auto scope = variable_scope("a", {.reuse = true});
    all.push_back(dense(t.y, 4));
    all.push_back(dense(t.y, 4));
    return all;
  };
  c["dense in name scope"] = [](In t) -> Out {
    const auto scope = name_scope("a");
    return {dense(t.x, 4)};
  };
  c["dense orthogonal"] = [](In t) -> Out {
    return {layers::dense(t.s, 2, {.kernel_initializer = orthogonal_initializer({.seed = 4})})};
  };
  c["dense orthogonal wide"] = [](In t) -> Out {
    return {layers::dense(
        t.x, 5, {.kernel_initializer = orthogonal_initializer({.gain = 2.0, .seed = 4})})};
  };
  c["dense orthogonal float64"] = [](In t) -> Out {
    return {layers::dense(t.d, 3, {.kernel_initializer = initializers::orthogonal({.seed = 4})})};
  };
  c["dense orthogonal rank"] = [](In t) -> Out {
    return {layers::dense(t.x, 5, {.bias_initializer = orthogonal_initializer()})};
  };
  c["dense identity"] = [](In t) -> Out {
    return {layers::dense(t.x, 4, {.kernel_initializer = initializers::identity({.gain = 0.5})})};
  };
  c["dense identity rank"] = [](In t) -> Out {
    return {layers::dense(t.x, 5, {.bias_initializer = initializers::identity()})};
  };
  c["conv2d orthogonal"] = [](In t) -> Out {
    return {
        layers::conv2d(t.im, 5, 2, {.kernel_initializer = orthogonal_initializer({.seed = 4})})};
  };
  c["dense scope initializer"] = [](In t) -> Out {
    const auto scope = variable_scope("a", {.initializer = ones_initializer()});
    return {dense(t.x, 4)};
  };
  c["dense scope regularizer"] = [](In t) -> Out {
    const auto scope = variable_scope("a", {.regularizer = half_l2});
    return {dense(t.x, 4)};
  };
}

void add_dense_objects(LayerCases& c) {
  c["Dense"] = [](In t) -> Out {
    const Dense layer(4);
    const Tensor first = layer(t.x);
    return {first, layer(t.y)};
  };
  c["Dense named"] = [](In t) -> Out {
    const Dense layer(4, {.name = "fc"});
    const Tensor first = layer(t.x);
    return {first, layer(t.y)};
  };
  c["Dense in scopes"] = [](In t) -> Out {
    const Dense layer(4);
    Out all;
    {
      const auto scope = variable_scope("a");
      all.push_back(layer(t.x));
    }
    {
      const auto scope = variable_scope("b");
      all.push_back(layer(t.y));
    }
    const auto scope = name_scope("n");
    all.push_back(layer(t.z));
    return all;
  };
  c["Dense scope"] = [](In t) -> Out {
    const Dense layer(4, {.scope = "given"});
    const Tensor first = layer(t.x);
    return {first, layer(t.y)};
  };
  c["Dense reuse"] = [](In t) -> Out {
    const Tensor first = Dense(4, {.name = "fc"})(t.x);
    return {first, Dense(4, {.name = "fc", .reuse = true})(t.y)};
  };
  c["Dense losses"] = [](In t) -> Out {
    const Dense layer(4, {.kernel_regularizer = half_l2});
    Out all{layer(t.x)};
    all.push_back(layer(t.y));
    for (const Tensor& loss : layer.losses()) all.push_back(loss);
    return all;
  };
  c["Dense activity losses"] = [](In t) -> Out {
    const Dense layer(4, {.activity_regularizer = half_l2});
    Out all{layer(t.x)};
    for (const Tensor& loss : layer.losses()) all.push_back(loss);
    return all;
  };
  c["Dense two"] = [](In t) -> Out {
    const Dense a(4), b(4);
    const Tensor first = b(t.x);
    return {first, a(t.y)};
  };
  c["Dense scope_name"] = [](In) -> Out {
    Dense(4).scope_name();
    return {};
  };
}

void add_convolutions(LayerCases& c) {
  c["conv2d"] = [](In t) -> Out { return {conv2d(t.im, 3, 3)}; };
  c["conv2d options"] = [](In t) -> Out {
    return {conv2d(t.im, 3, {3, 2},
                   {.strides = {2, 2},
                    .padding = "same",
                    .activation = nn::relu,
                    .kernel_regularizer = half_l2,
                    .name = "c"})};
  };
  c["conv2d unknown batch"] = [](In t) -> Out {
    return {conv2d(t.v, 3, 3, {.strides = 2, .use_bias = false})};
  };
  c["conv2d dilated"] = [](In t) -> Out {
    return {conv2d(t.im, 3, 3, {.padding = "SAME", .dilation_rate = 2})};
  };
  c["conv2d dilated valid"] = [](In t) -> Out {
    return {conv2d(t.im, 3, 2, {.dilation_rate = {1, 2}})};
  };
  c["conv2d twice"] = [](In t) -> Out {
    const Conv2D layer(3, 2);
    const Tensor first = layer(t.im);
    return {first, layer(t.im)};
  };
  c["conv2d too large"] = [](In t) -> Out { return {conv2d(t.im, 3, 7)}; };
  c["conv2d stride and rate"] = [](In t) -> Out {
    return {conv2d(t.im, 3, 3, {.strides = 2, .dilation_rate = 2})};
  };
  c["conv2d no filters"] = [](In t) -> Out { return {conv2d(t.im, 0, 3)}; };
  c["conv2d kernel 0"] = [](In t) -> Out { return {conv2d(t.im, 3, 0)}; };
  c["conv2d padding"] = [](In t) -> Out { return {conv2d(t.im, 3, 3, {.padding = "full"})}; };
  c["conv2d causal"] = [](In t) -> Out { return {conv2d(t.im, 3, 3, {.padding = "causal"})}; };
  c["conv2d sizes"] = [](In t) -> Out { return {conv2d(t.im, 3, {1, 2, 3})}; };
  c["conv2d rank 3"] = [](In t) -> Out { return {conv2d(t.s, 3, 3)}; };
  c["conv2d channels unknown"] = [](In) -> Out {
    return {conv2d(placeholder(float32, {.shape = {2, 6, 6, None}}), 3, 3)};
  };
  c["conv1d"] = [](In t) -> Out { return {conv1d(t.s, 4, 3)}; };
  c["conv1d options"] = [](In t) -> Out {
    return {conv1d(t.s, 4, 2,
                   {.strides = 2,
                    .padding = "same",
                    .activation = sigmoid,
                    .bias_initializer = ones_initializer(),
                    .name = "c"})};
  };
  c["conv1d causal"] = [](In t) -> Out { return {conv1d(t.s, 4, 2, {.padding = "causal"})}; };
  c["conv1d dilated"] = [](In t) -> Out { return {conv1d(t.s, 4, 2, {.dilation_rate = 2})}; };
  c["conv1d causal dilated"] = [](In t) -> Out {
    return {conv1d(t.s, 4, 2, {.padding = "causal", .dilation_rate = 2})};
  };
  c["conv2d_transpose"] = [](In t) -> Out { return {conv2d_transpose(t.im, 3, 3)}; };
  c["conv2d_transpose options"] = [](In t) -> Out {
    return {conv2d_transpose(
        t.im, 3, {3, 2}, {.strides = 2, .padding = "same", .activation = nn::relu, .name = "up"})};
  };
  c["conv2d_transpose unknown batch"] = [](In t) -> Out {
    return {conv2d_transpose(t.v, 3, 2, {.strides = 2, .use_bias = false})};
  };
  c["conv2d_transpose rank"] = [](In t) -> Out { return {conv2d_transpose(t.s, 3, 2)}; };
}

void add_separable(LayerCases& c) {
  c["separable_conv2d"] = [](In t) -> Out { return {separable_conv2d(t.im, 3, 3)}; };
  c["separable_conv2d options"] = [](In t) -> Out {
    return {separable_conv2d(t.im, 3, {3, 2},
                             {.strides = 2,
                              .padding = "same",
                              .depth_multiplier = 2,
                              .activation = nn::relu,
                              .depthwise_regularizer = half_l2,
                              .pointwise_regularizer = half_l2,
                              .name = "c"})};
  };
  c["separable_conv2d dilated"] = [](In t) -> Out {
    return {separable_conv2d(t.im, 3, 2, {.dilation_rate = 2})};
  };
  c["separable_conv2d unknown batch"] = [](In t) -> Out {
    return {separable_conv2d(t.v, 3, 3, {.use_bias = false})};
  };
  c["separable_conv2d rank"] = [](In t) -> Out { return {separable_conv2d(t.s, 3, 3)}; };
}

void add_pooling(LayerCases& c) {
  c["max_pooling2d"] = [](In t) -> Out { return {max_pooling2d(t.im, 2, 2)}; };
  c["max_pooling2d options"] = [](In t) -> Out {
    return {max_pooling2d(t.im, {3, 2}, {2, 1}, {.padding = "same", .name = "p"})};
  };
  c["max_pooling2d rank"] = [](In t) -> Out { return {max_pooling2d(t.s, 2, 2)}; };
  c["max_pooling2d padding"] = [](In t) -> Out {
    return {max_pooling2d(t.im, 2, 2, {.padding = "full"})};
  };
  c["average_pooling2d"] = [](In t) -> Out {
    return {average_pooling2d(t.im, 3, 2, {.padding = "same"})};
  };
  c["max_pooling1d"] = [](In t) -> Out { return {max_pooling1d(t.s, 2, 2)}; };
  c["average_pooling1d"] = [](In t) -> Out {
    return {average_pooling1d(t.s, 3, 1, {.padding = "same", .name = "p"})};
  };
  c["MaxPooling2D"] = [](In t) -> Out {
    const MaxPooling2D layer(2, 2);
    const Tensor first = layer(t.im);
    return {first, layer(t.im)};
  };
}

void add_dropout_flatten(LayerCases& c) {
  c["dropout"] = [](In t) -> Out { return {layers::dropout(t.h, {.seed = 3})}; };
  c["dropout training"] = [](In t) -> Out {
    return {layers::dropout(t.h, 0.4, {.seed = 3, .training = true})};
  };
  c["dropout rate"] = [](In t) -> Out {
    return {layers::dropout(t.h, {.rate = 0.4, .seed = 3, .training = true})};
  };
  c["dropout noise shape"] = [](In t) -> Out {
    return {layers::dropout(t.h, 0.4, {.noise_shape = {{2, 1}}, .seed = 3, .training = true})};
  };
  c["dropout noise open"] = [](In t) -> Out {
    return {layers::dropout(
        t.h, 0.4, {.noise_shape = {{None, 1}}, .seed = 3, .training = true, .name = "drop"})};
  };
  c["dropout 0"] = [](In t) -> Out { return {layers::dropout(t.h, 0.0, {.training = true})}; };
  c["dropout 1.5"] = [](In t) -> Out { return {layers::dropout(t.h, 1.5, {.training = true})}; };
  c["dropout twice"] = [](In t) -> Out {
    const Tensor first = layers::dropout(t.h, {.training = true});
    return {first, layers::dropout(t.h, {.training = true})};
  };
  c["flatten"] = [](In t) -> Out { return {flatten(t.im)}; };
  c["flatten unknown batch"] = [](In t) -> Out { return {flatten(t.v, {.name = "f"})}; };
  c["flatten unknown size"] = [](In) -> Out {
    flatten(placeholder(float32, {.shape = {2, None, 3}}));
    return {};
  };
  c["flatten unknown both"] = [](In) -> Out {
    flatten(placeholder(float32, {.shape = {None, None, 3}}));
    return {};
  };
  c["flatten rank 1"] = [](In t) -> Out { return {flatten(t.l)}; };
  c["flatten channels first"] = [](In t) -> Out {
    return {flatten(t.im, {.data_format = "channels_first"})};
  };
}

void add_batch_normalization(LayerCases& c) {
  c["batch_normalization"] = [](In t) -> Out { return {batch_normalization(t.h)}; };
  c["batch_normalization training"] = [](In t) -> Out {
    return {batch_normalization(t.h, {.training = true})};
  };
  c["batch_normalization not fused"] = [](In t) -> Out {
    return {batch_normalization(
        t.im, {.momentum = 0.9, .epsilon = 0.01, .training = true, .name = "bn", .fused = false})};
  };
  c["batch_normalization axis 1"] = [](In t) -> Out {
    return {batch_normalization(t.s, {.axis = 1, .training = true})};
  };
  c["batch_normalization axis 1 inference"] = [](In t) -> Out {
    return {batch_normalization(t.s, {.axis = 1})};
  };
  c["batch_normalization axes"] = [](In t) -> Out {
    return {batch_normalization(t.s, {.axis = {1, 2}, .training = true})};
  };
  c["batch_normalization no scale"] = [](In t) -> Out {
    return {batch_normalization(t.h, {.scale = false, .training = true})};
  };
  c["batch_normalization no center"] = [](In t) -> Out {
    return {batch_normalization(t.h,
                                {.center = false, .gamma_regularizer = half_l2, .training = true})};
  };
  c["batch_normalization not trainable"] = [](In t) -> Out {
    return {batch_normalization(t.h, {.training = true, .trainable = false})};
  };
  c["batch_normalization unknown batch"] = [](In t) -> Out {
    return {batch_normalization(t.u, {.training = true})};
  };
  c["batch_normalization twice"] = [](In t) -> Out {
    const BatchNormalization layer;
    Out all{layer(t.x, true)};
    all.push_back(layer(t.y, true));
    all.push_back(layer(t.z));
    return all;
  };
  c["batch_normalization fused"] = [](In t) -> Out { return {batch_normalization(t.im)}; };
  c["batch_normalization fused training"] = [](In t) -> Out {
    return {batch_normalization(t.im, {.training = true, .name = "bn"})};
  };
  c["batch_normalization fused options"] = [](In t) -> Out {
    return {batch_normalization(
        t.im, {.momentum = 0.9, .center = false, .scale = false, .training = true})};
  };
  c["batch_normalization fused twice"] = [](In t) -> Out {
    const BatchNormalization layer({.fused = true});
    const Tensor first = layer(t.im, true);
    return {first, layer(t.im)};
  };
  c["batch_normalization fused float64"] = [](In t) -> Out {
    const Tensor x = cast(t.im, float64);
    return {batch_normalization(x, {.training = true})};
  };
  c["batch_normalization axis 5"] = [](In t) -> Out {
    return {batch_normalization(t.h, {.axis = 5})};
  };
  c["batch_normalization unknown axis"] = [](In) -> Out {
    return {batch_normalization(placeholder(float32, {.shape = {2, None}}))};
  };
  c["batch_normalization float64"] = [](In t) -> Out {
    return {batch_normalization(t.d, {.training = true})};
  };
}

}  // namespace

LayerCases layers_cases() {
  LayerCases cases;
  add_dense(cases);
  add_dense_scopes(cases);
  add_dense_objects(cases);
  add_convolutions(cases);
  add_separable(cases);
  add_pooling(cases);
  add_dropout_flatten(cases);
  add_batch_normalization(cases);
  add_layer_training_cases(cases);
  return cases;
}

}  // namespace towerflow::testing
