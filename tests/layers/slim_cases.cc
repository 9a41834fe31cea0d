// The calls of slim_cases.py.
#include "layers/slim/slim.h"

#include "tests/layers/cases.h"

namespace towerflow::testing {
namespace {

using In = const LayerInputs&;
using Out = std::vector<Tensor>;

/// A few layers as Inception's arg scope sets them up.
Out small_net(In t, bool is_training) {
  const slim::Args batch_norm{
      .decay = 0.9, .scale = true, .epsilon = 0.001, .is_training = is_training};
  const auto both = slim::arg_scope({slim::conv2d, slim::fully_connected},
                                    {.weights_initializer = slim::variance_scaling_initializer(),
                                     .weights_regularizer = slim::l2_regularizer(0.04)});
  const auto convolutions = slim::arg_scope({slim::conv2d}, {.padding = "VALID",
                                                             .activation_fn = nn::relu,
                                                             .normalizer_fn = slim::batch_norm,
                                                             .normalizer_params = batch_norm});
  Tensor net = slim::conv2d(t.im, 3, {3, 3}, {.scope = "conv1"});
  net = slim::conv2d(net, 4, {2, 2}, {.stride = 2, .scope = "conv2"});
  net = slim::max_pool2d(net, {2, 2}, {.stride = 1, .scope = "pool"});
  net = slim::flatten(net);
  return {slim::fully_connected(net, 2, {.activation_fn = None, .scope = "logits"})};
}

void add_slim_convolutions(LayerCases& c) {
  c["conv2d"] = [](In t) -> Out { return {slim::conv2d(t.im, 3, {3, 3})}; };
  c["conv2d options"] = [](In t) -> Out {
    return {slim::conv2d(t.im, 3, {3, 2},
                         {.stride = 2,
                          .padding = "VALID",
                          .activation_fn = nn::elu,
                          .weights_initializer = truncated_normal_initializer({.stddev = 0.1}),
                          .weights_regularizer = slim::l2_regularizer(0.5),
                          .biases_initializer = constant_initializer(0.1),
                          .biases_regularizer = slim::l1_regularizer(0.5),
                          .scope = "c1"})};
  };
  c["conv2d collections"] = [](In t) -> Out {
    return {slim::conv2d(
        t.im, 3, 3,
        {.variables_collections = "ends", .outputs_collections = "ends", .scope = "c1"})};
  };
  c["conv2d collections by name"] = [](In t) -> Out {
    const std::map<std::string, slim::Names> by_name{{"weights", "ends"}};
    return {slim::conv2d(t.im, 3, 3, {.variables_collections = by_name, .scope = "c1"})};
  };
  c["conv2d no bias"] = [](In t) -> Out {
    return {slim::conv2d(t.im, 3, 3, {.biases_initializer = None})};
  };
  c["conv2d twice"] = [](In t) -> Out {
    const Tensor first = slim::conv2d(t.im, 3, 3);
    return {first, slim::conv2d(t.im, 3, 3)};
  };
  c["conv2d reuse"] = [](In t) -> Out {
    const Tensor first = slim::conv2d(t.im, 3, 3, {.scope = "c1"});
    return {first, slim::conv2d(t.im, 3, 3, {.reuse = true, .scope = "c1"})};
  };
  c["conv2d same scope"] = [](In t) -> Out {
    const Tensor first = slim::conv2d(t.im, 3, 3, {.scope = "c1"});
    return {first, slim::conv2d(t.im, 3, 3, {.scope = "c1"})};
  };
  c["conv2d not trainable"] = [](In t) -> Out {
    return {slim::conv2d(t.im, 3, 3, {.trainable = false})};
  };
  c["conv2d in scope"] = [](In t) -> Out {
    const auto scope = variable_scope("net");
    return {slim::conv2d(t.im, 3, 3, {.scope = "c1"})};
  };
  c["conv2d rate"] = [](In t) -> Out { return {slim::conv2d(t.im, 3, 3, {.rate = 2})}; };
  c["conv2d rank"] = [](In t) -> Out { return {slim::conv2d(t.s, 3, 3)}; };
  c["conv2d data format"] = [](In t) -> Out {
    return {slim::conv2d(t.im, 3, 3, {.data_format = "XYZ"})};
  };
}

void add_fully_connected(LayerCases& c) {
  c["fully_connected"] = [](In t) -> Out { return {slim::fully_connected(t.x, 4)}; };
  c["fully_connected options"] = [](In t) -> Out {
    return {
        slim::fully_connected(t.x, 4,
                              {.activation_fn = None,
                               .weights_initializer = slim::xavier_initializer({.uniform = false}),
                               .weights_regularizer = slim::l2_regularizer(0.5),
                               .scope = "fc"})};
  };
  c["fully_connected rank 3"] = [](In t) -> Out { return {slim::fully_connected(t.s, 4)}; };
  c["fully_connected reuse"] = [](In t) -> Out {
    const slim::WeightRegularizer loss = slim::l2_regularizer(0.5);
    const Tensor first =
        slim::fully_connected(t.x, 4, {.weights_regularizer = loss, .scope = "fc"});
    return {first, slim::fully_connected(
                       t.y, 4, {.weights_regularizer = loss, .reuse = true, .scope = "fc"})};
  };
  c["fully_connected scope regularizer"] = [](In t) -> Out {
    const auto scope = variable_scope("net", {.regularizer = slim::l2_regularizer(0.5)});
    return {slim::fully_connected(t.x, 4)};
  };
  c["l1_l2_regularizer"] = [](In t) -> Out {
    return {
        slim::fully_connected(t.x, 2, {.weights_regularizer = slim::l1_l2_regularizer(0.5, 0.25)})};
  };
  c["l1_l2_regularizer one"] = [](In t) -> Out {
    return {
        slim::fully_connected(t.x, 2, {.weights_regularizer = slim::l1_l2_regularizer(0.0, 0.25)})};
  };
  c["sum_regularizer"] = [](In t) -> Out {
    const auto sum = slim::sum_regularizer({slim::l1_regularizer(0.5), slim::l2_regularizer(0.0)},
                                           {.scope = "sum"});
    return {slim::fully_connected(t.x, 2, {.weights_regularizer = sum})};
  };
  c["l2_regularizer negative"] = [](In) -> Out {
    slim::l2_regularizer(-1.0);
    return {};
  };
  c["l2_regularizer tensor"] = [](In t) -> Out {
    return {*slim::l2_regularizer(0.5, {.scope = "loss"})(t.x)};
  };
  c["l2_regularizer 0"] = [](In t) -> Out {
    return {slim::fully_connected(t.x, 2, {.weights_regularizer = slim::l2_regularizer(0.0)})};
  };
  c["variance_scaling_initializer uniform"] = [](In t) -> Out {
    return {slim::fully_connected(
        t.x, 2,
        {.weights_initializer = slim::variance_scaling_initializer(
             {.factor = 3.0, .mode = "FAN_OUT", .uniform = true, .seed = 7})})};
  };
  c["variance_scaling_initializer mode"] = [](In) -> Out {
    slim::variance_scaling_initializer({.mode = "FAN"});
    return {};
  };
}

void add_other_layers(LayerCases& c) {
  c["max_pool2d"] = [](In t) -> Out { return {slim::max_pool2d(t.im, {2, 2})}; };
  c["max_pool2d options"] = [](In t) -> Out {
    return {slim::max_pool2d(
        t.im, 3, {.stride = 1, .padding = "SAME", .outputs_collections = "ends", .scope = "p"})};
  };
  c["avg_pool2d"] = [](In t) -> Out {
    return {slim::avg_pool2d(t.im, {3, 3}, {.stride = 3, .scope = "p"})};
  };
  c["dropout"] = [](In t) -> Out { return {slim::dropout(t.h, {.keep_prob = 0.6, .seed = 3})}; };
  c["dropout inference"] = [](In t) -> Out {
    return {slim::dropout(t.h, {.is_training = false, .scope = "drop"})};
  };
  c["flatten"] = [](In t) -> Out { return {slim::flatten(t.im)}; };
  c["flatten scope"] = [](In t) -> Out {
    return {slim::flatten(t.im, {.outputs_collections = "ends", .scope = "f"})};
  };
  c["softmax"] = [](In t) -> Out { return {slim::softmax(t.h)}; };
  c["softmax rank 4"] = [](In t) -> Out { return {slim::softmax(t.im, {.scope = "predictions"})}; };
  c["one_hot_encoding"] = [](In t) -> Out { return {slim::one_hot_encoding(t.l, 3)}; };
  c["one_hot_encoding int32"] = [](In t) -> Out {
    return {slim::one_hot_encoding(t.i, 3, {.on_value = 2.0, .off_value = -1.0, .scope = "hot"})};
  };
  c["repeat"] = [](In t) -> Out { return {slim::repeat(t.im, 2, slim::conv2d, 2, {3, 3})}; };
  c["repeat scope"] = [](In t) -> Out {
    return {slim::repeat(t.im, 2, slim::conv2d, 2, {3, 3}, {.scope = "conv"})};
  };
  c["stack"] = [](In t) -> Out { return {slim::stack(t.x, slim::fully_connected, {4, 2})}; };
  c["stack scope"] = [](In t) -> Out {
    return {slim::stack(t.im, slim::conv2d, {{2, {3, 3}}, {3, {1, 1}}}, {.scope = "conv"})};
  };
}

void add_batch_norm(LayerCases& c) {
  c["batch_norm training"] = [](In t) -> Out {
    return {slim::batch_norm(t.s, {.decay = 0.9, .scale = true, .is_training = true})};
  };
  c["batch_norm inference"] = [](In t) -> Out {
    return {slim::batch_norm(t.s, {.is_training = false, .scope = "bn"})};
  };
  c["batch_norm 4 not fused"] = [](In t) -> Out {
    return {slim::batch_norm(t.im, {.activation_fn = nn::relu, .fused = false, .scope = "bn"})};
  };
  c["batch_norm 2 not fused"] = [](In t) -> Out {
    return {slim::batch_norm(t.h, {.fused = false})};
  };
  c["batch_norm forced"] = [](In t) -> Out {
    return {slim::batch_norm(t.h, {.decay = 0.9, .updates_collections = None, .fused = false})};
  };
  c["batch_norm own collection"] = [](In t) -> Out {
    return {slim::batch_norm(t.h, {.updates_collections = "ends", .fused = false})};
  };
  c["batch_norm own collection inference"] = [](In t) -> Out {
    return {slim::batch_norm(
        t.h, {.scale = true, .updates_collections = "ends", .is_training = false, .fused = false})};
  };
  c["batch_norm parameters"] = [](In t) -> Out {
    return {slim::batch_norm(t.h, {.scale = true,
                                   .param_initializers = {{"beta", constant_initializer(0.5)},
                                                          {"gamma", constant_initializer(2.0)}},
                                   .param_regularizers = {{"gamma", slim::l2_regularizer(0.5)}},
                                   .fused = false})};
  };
  c["batch_norm collections"] = [](In t) -> Out {
    const std::map<std::string, slim::Names> by_name{{"moving_mean", "ends"}, {"beta", "ends"}};
    return {slim::batch_norm(t.h, {.variables_collections = by_name, .fused = false})};
  };
  c["batch_norm 4"] = [](In t) -> Out {
    return {slim::batch_norm(t.im, {.decay = 0.9, .scale = true})};
  };
  c["batch_norm 4 inference"] = [](In t) -> Out {
    return {slim::batch_norm(t.im, {.is_training = false})};
  };
  c["batch_norm 4 forced"] = [](In t) -> Out {
    return {slim::batch_norm(t.im, {.updates_collections = None})};
  };
  c["batch_norm 2"] = [](In t) -> Out {
    return {slim::batch_norm(t.h, {.scale = true,
                                   .param_regularizers = {{"beta", slim::l2_regularizer(0.5)}},
                                   .scope = "bn"})};
  };
  c["batch_norm 2 inference"] = [](In t) -> Out {
    return {slim::batch_norm(t.u, {.center = false, .is_training = false})};
  };
  c["batch_norm argument"] = [](In t) -> Out {
    return {slim::batch_norm(t.h, {.stride = 3, .is_training = true})};
  };
}

void add_arg_scopes(LayerCases& c) {
  c["arg_scope"] = [](In t) -> Out {
    const auto scope = slim::arg_scope({slim::conv2d}, {.padding = "VALID", .activation_fn = None});
    return {slim::conv2d(t.im, 3, 3)};
  };
  c["arg_scope nested"] = [](In t) -> Out {
    Out all;
    {
      const auto outer =
          slim::arg_scope({slim::conv2d}, {.padding = "VALID", .activation_fn = None});
      {
        const auto inner =
            slim::arg_scope({slim::conv2d, slim::fully_connected}, {.activation_fn = nn::elu});
        all.push_back(slim::conv2d(t.im, 2, 3));
      }
      all.push_back(slim::conv2d(t.im, 2, 3));
      all.push_back(slim::conv2d(t.im, 2, 3, {.padding = "SAME"}));
    }
    all.push_back(slim::fully_connected(t.x, 2));
    return all;
  };
  c["arg_scope captured"] = [](In t) -> Out {
    const auto capture = []() -> slim::ArgScope {
      return slim::arg_scope({slim::conv2d}, {.padding = "VALID"});
    };
    const auto scope = slim::arg_scope(capture());
    return {slim::conv2d(t.im, 2, 3)};
  };
  c["arg_scope batch_norm"] = [](In t) -> Out {
    const auto scope = slim::arg_scope({slim::batch_norm}, {.is_training = false, .fused = false});
    return {slim::conv2d(
        t.im, 3, 3,
        {.normalizer_fn = slim::batch_norm, .normalizer_params = slim::Args{.scale = true}})};
  };
  c["arg_scope wrong"] = [](In t) -> Out {
    const auto scope = slim::arg_scope({slim::fully_connected}, {.stride = 2});
    return {slim::fully_connected(t.x, 2)};
  };
  c["arg_scope no function"] = [](In) -> Out {
    const auto scope = slim::arg_scope({nn::relu}, {.stride = 2});
    return {};
  };
  c["small net"] = [](In t) { return small_net(t, true); };
  c["small net inference"] = [](In t) { return small_net(t, false); };
}

}  // namespace

LayerCases slim_cases() {
  LayerCases cases;
  add_slim_convolutions(cases);
  add_fully_connected(cases);
  add_other_layers(cases);
  add_batch_norm(cases);
  add_arg_scopes(cases);
  add_slim_training_cases(cases);
  return cases;
}

}  // namespace towerflow::testing
