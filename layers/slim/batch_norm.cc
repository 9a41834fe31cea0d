#include <fmt/format.h>

#include "core/graph/op_builder.h"
#include "layers/batch_moments.h"
#include "layers/moving_average.h"
#include "layers/normalization.h"
#include "layers/slim/slim.h"
#include "layers/slim/variables.h"
#include "ops/array/constant.h"
#include "ops/array/indexed_slices.h"
#include "ops/array/shape_of.h"
#include "ops/array/view.h"
#include "ops/nn/batch_normalization.h"
#include "ops/nn/fused_batch_norm.h"
#include "ops/variables/initializers.h"

namespace towerflow::slim {
namespace {

/// Returns the names of the collections for updates; none if they are part of the result.
std::vector<std::string> update_collections(const Args& args) {
  return args.updates_collections.or_default(Names(GraphKeys::UPDATE_OPS)).list();
}

layers::Training training_of(const Args& args) { return args.is_training.or_default(true); }

double decay_of(const Args& args) { return args.decay.or_default(0.999); }

bool lists_updates_as_layers_do(const Args& args) {
  const std::vector<std::string> names = update_collections(args);
  return names.size() == 1 && names[0] == GraphKeys::UPDATE_OPS;
}

Tensor finished_batch_norm(Tensor x, const Args& args, Site site) {
  const Activation activation = args.activation_fn.or_default({});
  if (activation) x = activation(x, site);
  return listed_output(x, args);
}

Initializer initializer_or(const Args& args, const char* name, const Initializer& otherwise) {
  const auto found = args.param_initializers.find(name);
  return found == args.param_initializers.end() ? otherwise : found->second;
}

Regularizer regularizer_of(const Args& args, const char* name) {
  const auto found = args.param_regularizers.find(name);
  return found == args.param_regularizers.end() ? Regularizer() : found->second;
}

/// The variables of a batch normalization that no layer makes.
class BatchNormVariables {
 public:
  BatchNormVariables(const Args& args, const Shape& shape, DType dtype, bool regularized, Site site)
      : args_(args), shape_(shape), dtype_(dtype), regularized_(regularized), site_(site) {}

  Variable beta() const { return parameter("beta", zeros_initializer()); }
  Variable gamma() const { return parameter("gamma", ones_initializer()); }

  void make_averages() {
    // As in TensorFlow, the averages are not partitioned.
    const VariableScopeGuard scope = variable_scope(get_variable_scope(), {}, site_);
    scope->set_partitioner({});
    moving_mean = make("moving_mean", zeros_initializer(), {}, false);
    moving_variance = make("moving_variance", ones_initializer(), {}, false);
  }

  std::vector<Tensor> averages() const { return {Tensor(moving_mean), Tensor(moving_variance)}; }

  Variable moving_mean, moving_variance;

 private:
  Variable parameter(const char* name, const Initializer& initializer) const {
    return make(name, initializer, regularized_ ? regularizer_of(args_, name) : Regularizer(),
                args_.trainable.or_default(true));
  }

  Variable make(const char* name, const Initializer& initializer, const Regularizer& regularizer,
                bool trainable) const {
    std::vector<std::string> collections;
    if (args_.variables_collections.given()) {
      collections = args_.variables_collections.value().of(name);
    }
    collections.emplace_back(GraphKeys::GLOBAL_VARIABLES);
    collections.emplace_back(GraphKeys::MODEL_VARIABLES);
    return get_variable(name, shape_,
                        {.dtype = dtype_,
                         .initializer = initializer_or(args_, name, initializer),
                         .regularizer = regularizer,
                         .trainable = trainable,
                         .collections = collections},
                        site_);
  }

  const Args& args_;
  Shape shape_;
  DType dtype_;
  bool regularized_;
  Site site_;
};

/// Returns the updated averages.
std::vector<Tensor> updated_averages(const BatchNormVariables& own, const Tensor& mean,
                                     const Tensor& variance, const Args& args, Site site) {
  const double decay = decay_of(args);
  const Tensor new_mean = layers::update_average_freely(own.moving_mean, mean, decay, site);
  const Tensor new_variance =
      layers::update_average_freely(own.moving_variance, variance, decay, site);
  return {new_mean, new_variance};
}

/// Returns `results` once the averages are updated.
std::vector<Tensor> after_updates(const BatchNormVariables& own, const Tensor& mean,
                                  const Tensor& variance, const std::vector<Tensor>& results,
                                  const Args& args, Site site) {
  const std::vector<Tensor> updates = updated_averages(own, mean, variance, args, site);
  const auto after = control_dependencies({updates[0], updates[1]}, site);
  std::vector<Tensor> waiting;
  for (const Tensor& result : results) {
    waiting.push_back(identity(Operand(result, site), {}, site));
  }
  return waiting;
}

/// Lists the updates, which change nothing in a run that does not train, and records the moments.
void list_updates(const BatchNormVariables& own, layers::SampleMoments sample, const Args& args,
                  Site site) {
  const std::vector<Tensor> updates = layers::in_training(
      training_of(args),
      [&] { return updated_averages(own, sample.mean, sample.variance, args, site); },
      [&] { return own.averages(); }, site);
  for (const Tensor& update : updates) {
    for (const std::string& key : update_collections(args)) add_to_collection(key, update);
  }
  layers::add_batch_moments({.moving_mean = own.moving_mean,
                             .moving_variance = own.moving_variance,
                             .sample = std::move(sample),
                             .momentum = decay_of(args),
                             .training = training_of(args),
                             .mean_update = updates[0].op(),
                             .variance_update = updates[1].op()});
}

Shape channel_shape(const Tensor& x, bool channels_first, Site site) {
  const Dim channels = x.shape()[channels_first ? 1 : -1];
  if (channels.known()) return {channels};
  throw ValueError(fmt::format("Inputs {} has undefined channels dimension.", x.name()),
                   {.site = site, .node = x.op().name(), .op = "batch_norm"});
}

/// One op, FusedBatchNormV3; a matrix is taken for images of one pixel.
Tensor fused_slim_batch_norm(const Operand& inputs, const Args& args, bool channels_first,
                             Site site) {
  const VariableScopeGuard scope = open_layer_scope(args, "BatchNorm", {}, site);
  const Tensor original =
      inputs.tensor() != nullptr ? *inputs.tensor() : convert_to_tensor(inputs, {}, site);
  Tensor x = original;
  if (x.shape().rank() == 2) {
    const std::int64_t channels = channel_shape(x, false, site).size(0);
    const Nested sizes =
        channels_first ? Nested({-1, channels, 1, 1}) : Nested({-1, 1, 1, channels});
    x = reshape(Operand(x, site), Operand(sizes, site), {}, site);
  }
  const Shape shape = channel_shape(x, channels_first, site);
  BatchNormVariables own(args, shape, DType::float32, true, site);
  const auto constants = [&](double value) {
    return constant(Operand(value, site), {.dtype = DType::float32, .shape = shape}, site);
  };
  const Operand offset =
      args.center.or_default(true) ? Operand(own.beta(), site) : Operand(constants(0.0), site);
  const Operand factor =
      args.scale.or_default(false) ? Operand(own.gamma(), site) : Operand(constants(1.0), site);
  own.make_averages();
  const layers::Training training = training_of(args);
  const auto normalize = [&](bool in_use) {
    nn::FusedBatchNormOptions options;
    options.epsilon = static_cast<float>(args.epsilon.or_default(0.001));
    options.data_format = channels_first ? "NCHW" : "NHWC";
    options.is_training = in_use;
    if (!in_use) {
      options.mean = Operand(own.moving_mean, site);
      options.variance = Operand(own.moving_variance, site);
    }
    const nn::FusedBatchNorm found =
        nn::fused_batch_norm(Operand(x, site), factor, offset, std::move(options), site);
    return std::vector<Tensor>{found.y, found.running_mean, found.running_var};
  };
  const std::vector<Tensor> found = layers::in_training(
      training, [&] { return normalize(true); }, [&] { return normalize(false); }, site);
  std::vector<Tensor> results{found[0]};
  if (training.may_be(true)) {
    if (update_collections(args).empty()) {
      results = layers::in_training(
          training, [&] { return after_updates(own, found[1], found[2], {found[0]}, args, site); },
          [&] { return std::vector<Tensor>{found[0]}; }, site);
    } else {
      const std::vector<int> axes =
          channels_first ? std::vector<int>{0, 2, 3} : std::vector<int>{0, 1, 2};
      list_updates(own, {found[1], found[2], x, axes, /*unbiased=*/true}, args, site);
    }
  }
  Tensor result = results[0];
  result.set_shape(x.shape(), site);
  if (original.shape().rank() == 2) {
    const Nested sizes({original.shape().size(0), original.shape().size(1)});
    result = reshape(Operand(result, site), Operand(sizes, site), {}, site);
  }
  return finished_batch_norm(result, args, site);
}

/// The layer of tf.layers.
Tensor layered_batch_norm(const Tensor& x, const VariableScopeHandle& scope, const Args& args,
                          bool channels_first, Site site) {
  layers::BatchNormalizationLayerOptions options;
  options.axis = channels_first ? 1 : -1;
  options.momentum = decay_of(args);
  options.epsilon = args.epsilon.or_default(0.001);
  options.center = args.center.or_default(true);
  options.scale = args.scale.or_default(false);
  options.beta_initializer = initializer_or(args, "beta", zeros_initializer());
  options.gamma_initializer = initializer_or(args, "gamma", ones_initializer());
  options.moving_mean_initializer = initializer_or(args, "moving_mean", zeros_initializer());
  options.moving_variance_initializer = initializer_or(args, "moving_variance", ones_initializer());
  options.beta_regularizer = regularizer_of(args, "beta");
  options.gamma_regularizer = regularizer_of(args, "gamma");
  options.training = training_of(args);
  options.trainable = args.trainable.or_default(true);
  options.name = scope.name();
  options.reuse = args.reuse.or_default(Reuse(std::nullopt));
  options.fused = args.fused.or_default(true);
  options.scope = scope;
  const layers::BatchNormalization layer(std::move(options), site);
  const Tensor result = layer(Operand(x, site), site);
  list_variable(layer.moving_mean(), "moving_mean", args);
  list_variable(layer.moving_variance(), "moving_variance", args);
  list_variable(layer.beta(), "beta", args);
  list_variable(layer.gamma(), "gamma", args);
  return finished_batch_norm(result, args, site);
}

/// Composed of ops, for updates that are not listed in UPDATE_OPS.
Tensor composed_batch_norm(const Tensor& x, const Args& args, bool channels_first, Site site) {
  const Shape inputs = x.shape();
  std::vector<int> axes;
  for (int i = 0; i < static_cast<int>(inputs.rank()); ++i) {
    const int channels = channels_first ? 1 : static_cast<int>(inputs.rank()) - 1;
    if (i != channels) axes.push_back(i);
  }
  const Shape shape = channel_shape(x, channels_first, site);
  BatchNormVariables own(args, shape, x.dtype(), false, site);
  std::optional<Operand> beta, gamma;
  if (args.center.or_default(true)) beta = Operand(own.beta(), site);
  if (args.scale.or_default(false)) gamma = Operand(own.gamma(), site);
  own.make_averages();
  Operand mean(own.moving_mean, site), variance(own.moving_variance, site);
  const layers::Training training = training_of(args);
  if (training.may_be(true)) {
    nn::Moments found = nn::moments(Operand(x, site), axes, {.keepdims = channels_first}, site);
    if (channels_first) {
      const Operand flat(Nested({-1}), site);
      found.mean = reshape(Operand(found.mean, site), flat, {}, site);
      found.variance = reshape(Operand(found.variance, site), flat, {}, site);
    }
    const std::vector<Tensor> of_batch{found.mean, found.variance};
    std::vector<Tensor> chosen;
    if (update_collections(args).empty()) {
      chosen = layers::in_training(
          training,
          [&] { return after_updates(own, found.mean, found.variance, of_batch, args, site); },
          [&] { return own.averages(); }, site);
    } else {
      list_updates(own, {found.mean, found.variance, x, axes}, args, site);
      chosen = layers::in_training(
          training, [&] { return of_batch; }, [&] { return own.averages(); }, site);
    }
    mean = Operand(chosen[0], site);
    variance = Operand(chosen[1], site);
  }
  if (channels_first) {
    std::vector<Nested> sizes(inputs.rank(), Nested(1));
    sizes[1] = Nested(shape.size(0));
    const Operand target(Nested(std::move(sizes)), site);
    const auto wide = [&](const Operand& value) {
      return Operand(reshape(value, target, {}, site), site);
    };
    mean = wide(mean);
    variance = wide(variance);
    if (beta) beta = wide(*beta);
    if (gamma) gamma = wide(*gamma);
  }
  Tensor result = nn::batch_normalization(Operand(x, site), mean, variance, beta, gamma,
                                          Operand(args.epsilon.or_default(0.001), site), {}, site);
  result.set_shape(inputs, site);
  return finished_batch_norm(result, args, site);
}

}  // namespace

Tensor batch_norm(const Operand& inputs, Args given, Site site) {
  const Args args = scoped_args(
      &batch_norm, "batch_norm",
      " decay center scale epsilon activation_fn param_initializers param_regularizers "
      "updates_collections is_training reuse variables_collections outputs_collections trainable "
      "fused data_format scope ",
      given, site);
  const DefaultGraphGuard graph(graph_of(inputs));
  const Tensor x =
      inputs.tensor() != nullptr ? *inputs.tensor() : convert_to_tensor(inputs, {}, site);
  const std::string format = args.data_format.or_default("NHWC");
  if (format != "NHWC" && format != "NCHW") {
    throw ValueError("data_format has to be either NCHW or NHWC.",
                     {.site = site, .op = "batch_norm"});
  }
  const bool channels_first = format == "NCHW";
  const bool usual = lists_updates_as_layers_do(args);
  const std::size_t rank = x.shape().rank();
  if (args.fused.or_default(true) && (rank == 2 || (rank == 4 && !usual))) {
    return fused_slim_batch_norm(Operand(x, site), args, channels_first, site);
  }
  const VariableScopeGuard scope =
      open_layer_scope(args, "BatchNorm", model_variable_getter({}), site);
  if (usual) return layered_batch_norm(x, scope, args, channels_first, site);
  if (!x.shape().has_rank()) {
    throw ValueError(fmt::format("Inputs {} has undefined rank.", x.name()),
                     {.site = site, .node = x.op().name(), .op = "batch_norm"});
  }
  return composed_batch_norm(x, args, channels_first, site);
}

}  // namespace towerflow::slim
