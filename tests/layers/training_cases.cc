// The calls of layers_cases.py and slim_cases.py in which a tensor says whether they train.
#include "tests/layers/cases.h"

namespace towerflow::testing {
namespace {

using In = const LayerInputs&;
using Out = std::vector<Tensor>;
using layers::batch_normalization;

Tensor one_float(In t) { return t.x[{0, 0}]; }

void add_fused(LayerCases& c) {
  c["batch_normalization tensor fused"] = [](In t) -> Out {
    return {batch_normalization(t.im, {.training = t.b})};
  };
  c["batch_normalization tensor fused false"] = [](In t) -> Out {
    return {
        batch_normalization(t.im, {.momentum = 0.9, .training = logical_not(t.b), .name = "bn"})};
  };
  c["batch_normalization tensor fused constant"] = [](In t) -> Out {
    return {batch_normalization(t.im, {.training = constant(true)})};
  };
  c["batch_normalization tensor fused options"] = [](In t) -> Out {
    return {batch_normalization(
        t.im, {.momentum = 0.9, .center = false, .scale = false, .training = t.b})};
  };
  c["batch_normalization tensor fused unknown batch"] = [](In t) -> Out {
    return {batch_normalization(t.v, {.training = t.b})};
  };
}

void add_composed(LayerCases& c) {
  c["batch_normalization tensor"] = [](In t) -> Out {
    return {batch_normalization(t.h, {.training = t.b})};
  };
  c["batch_normalization tensor false"] = [](In t) -> Out {
    return {batch_normalization(t.h, {.momentum = 0.9, .training = logical_not(t.b)})};
  };
  c["batch_normalization tensor constant"] = [](In t) -> Out {
    const Tensor first = batch_normalization(t.h, {.training = constant(true)});
    return {first, batch_normalization(t.h, {.training = constant(false)})};
  };
  c["batch_normalization tensor default"] = [](In t) -> Out {
    return {batch_normalization(t.h, {.training = placeholder_with_default(false, Shape{})})};
  };
  c["batch_normalization tensor axis 1"] = [](In t) -> Out {
    return {batch_normalization(t.s, {.axis = 1, .training = t.b})};
  };
  c["batch_normalization tensor axes"] = [](In t) -> Out {
    return {batch_normalization(t.s, {.axis = {1, 2}, .training = t.b})};
  };
  c["batch_normalization tensor options"] = [](In t) -> Out {
    return {
        batch_normalization(t.h, {.center = false, .scale = false, .training = t.b, .name = "bn"})};
  };
  c["batch_normalization tensor unknown batch"] = [](In t) -> Out {
    return {batch_normalization(t.u, {.training = t.b})};
  };
  c["batch_normalization tensor float64"] = [](In t) -> Out {
    return {batch_normalization(t.d, {.training = t.b})};
  };
  c["batch_normalization tensor twice"] = [](In t) -> Out {
    const layers::BatchNormalization layer;
    const Tensor first = layer(t.x, t.b);
    const Tensor second = layer(t.y, true);
    return {first, second, layer(t.z)};
  };
  c["batch_normalization tensor dtype"] = [](In t) -> Out {
    return {batch_normalization(t.h, {.training = one_float(t)})};
  };
}

}  // namespace

void add_layer_training_cases(LayerCases& c) {
  c["dropout tensor"] = [](In t) -> Out {
    return {layers::dropout(t.h, 0.4, {.seed = 3, .training = t.b})};
  };
  c["dropout tensor false"] = [](In t) -> Out {
    return {layers::dropout(t.h, 0.4, {.seed = 3, .training = logical_not(t.b), .name = "drop"})};
  };
  c["dropout tensor constant"] = [](In t) -> Out {
    return {layers::dropout(t.h, 0.4, {.seed = 3, .training = constant(true)})};
  };
  c["dropout tensor noise"] = [](In t) -> Out {
    return {layers::dropout(t.h, 0.4, {.noise_shape = {{None, 1}}, .seed = 3, .training = t.b})};
  };
  c["dropout tensor 0"] = [](In t) -> Out {
    return {layers::dropout(t.h, 0.0, {.training = t.b})};
  };
  c["dropout tensor dtype"] = [](In t) -> Out {
    return {layers::dropout(t.h, 0.4, {.training = one_float(t)})};
  };
  c["dropout tensor twice"] = [](In t) -> Out {
    const Tensor first = layers::dropout(t.h, {.seed = 1, .training = t.b});
    return {first, layers::dropout(t.h, {.seed = 2, .training = t.b})};
  };
  add_composed(c);
  add_fused(c);
}

void add_slim_training_cases(LayerCases& c) {
  c["dropout tensor"] = [](In t) -> Out {
    return {slim::dropout(t.h, {.is_training = t.b, .keep_prob = 0.6, .seed = 3})};
  };
  c["batch_norm tensor"] = [](In t) -> Out {
    return {slim::batch_norm(t.s, {.decay = 0.9, .is_training = t.b})};
  };
  c["batch_norm tensor not fused"] = [](In t) -> Out {
    return {
        slim::batch_norm(t.im, {.is_training = logical_not(t.b), .fused = false, .scope = "bn"})};
  };
  c["batch_norm tensor forced"] = [](In t) -> Out {
    return {slim::batch_norm(
        t.h,
        {.decay = 0.9, .updates_collections = std::nullopt, .is_training = t.b, .fused = false})};
  };
  c["batch_norm tensor own collection"] = [](In t) -> Out {
    return {slim::batch_norm(
        t.h, {.scale = true, .updates_collections = "ends", .is_training = t.b, .fused = false})};
  };
  c["batch_norm tensor constant"] = [](In t) -> Out {
    return {slim::batch_norm(
        t.h, {.updates_collections = "ends", .is_training = constant(true), .fused = false})};
  };
  c["batch_norm tensor 4"] = [](In t) -> Out {
    return {slim::batch_norm(t.im, {.decay = 0.9, .scale = true, .is_training = t.b})};
  };
  c["batch_norm tensor 4 forced"] = [](In t) -> Out {
    return {slim::batch_norm(t.im, {.updates_collections = std::nullopt, .is_training = t.b})};
  };
  c["batch_norm tensor 4 own collection"] = [](In t) -> Out {
    return {slim::batch_norm(t.im, {.updates_collections = "ends", .is_training = t.b})};
  };
  c["batch_norm tensor 2"] = [](In t) -> Out {
    return {slim::batch_norm(t.h, {.scale = true, .is_training = t.b})};
  };
  c["batch_norm tensor 2 false"] = [](In t) -> Out {
    return {slim::batch_norm(t.h, {.decay = 0.9, .is_training = logical_not(t.b)})};
  };
  c["arg_scope tensor"] = [](In t) -> Out {
    const auto scope = slim::arg_scope({slim::batch_norm, slim::dropout}, {.is_training = t.b});
    return {slim::dropout(slim::batch_norm(t.h), {.seed = 1})};
  };
}

}  // namespace towerflow::testing
