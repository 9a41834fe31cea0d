#include "layers/normalization.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/graph/op_builder.h"
#include "layers/batch_moments.h"
#include "layers/batch_norm_body.h"
#include "layers/moving_average.h"
#include "ops/array/constant.h"
#include "ops/array/indexed_slices.h"
#include "ops/array/view.h"
#include "ops/nn/fused_batch_norm.h"

namespace towerflow::layers {
namespace {

LayerOptions common_batch_norm_options(const BatchNormalizationLayerOptions& options) {
  return {.trainable = options.trainable,
          .name = options.name,
          .dtype = options.dtype,
          .reuse = options.reuse,
          .scope = options.scope};
}

}  // namespace

BatchNormBody::BatchNormBody(BatchNormalizationLayerOptions options, Site site)
    : LayerBody("batch_normalization", common_batch_norm_options(options), site),
      axis_(options.axis.values()),
      options_(std::move(options)),
      training_(options_.training) {
  if (!options_.renorm) return;
  throw errors::UnimplementedError("batch renormalization does not exist",
                                   {.site = site, .op = name(), .hint = "set renorm to false"});
}

Tensor BatchNormBody::apply_in_mode(const Operand& inputs, const Training& training, Site site) {
  training_ = training;
  const Tensor result = apply(inputs, site);
  training_ = options_.training;
  return result;
}

void BatchNormBody::build(const Shape& shape, Site site) {
  check_axes(shape, site);
  fused_ = options_.fused.value_or(true) && can_be_fused(shape);
  for (const int axis : axis_) {
    if (!shape[axis].known()) {
      throw ValueError(fmt::format("Input has undefined `axis` dimension. Received input with "
                                   "shape {} and axis=({})",
                                   shape.text(), fmt::join(axis_, ", ")),
                       {.site = site, .op = name()});
    }
    input_spec.axes.emplace_back(axis, shape.size(axis));
  }
  input_spec.ndim = shape.rank();
  add_weights(parameter_shape(shape), site);
}

Tensor BatchNormBody::call(const Tensor& inputs, Site site) {
  return fused_ ? call_fused(inputs, site) : call_composed(inputs, site);
}

Tensor BatchNormBody::call_fused(const Tensor& inputs, Site site) {
  const auto constants = [&](double value) {
    return constant(Operand(value, site), {.dtype = *dtype(), .shape = moving_mean.shape()}, site);
  };
  const Operand offset = options_.center ? Operand(beta, site) : Operand(constants(0.0), site);
  const Operand scale = options_.scale ? Operand(gamma, site) : Operand(constants(1.0), site);
  const auto in_one_op = [&](bool training) {
    const nn::FusedBatchNorm found =
        nn::fused_batch_norm(Operand(inputs, site), scale, offset,
                             {.mean = Operand(moving_mean, site),
                              .variance = Operand(moving_variance, site),
                              .epsilon = static_cast<float>(options_.epsilon),
                              .data_format = axis_[0] == 1 ? "NCHW" : "NHWC",
                              .is_training = training},
                             site);
    return std::vector<Tensor>{found.y, found.running_mean, found.running_var};
  };
  const std::vector<Tensor> found = in_training(
      training_, [&] { return in_one_op(true); }, [&] { return in_one_op(false); }, site);
  if (training_.may_be(true)) {
    const Operand kept(momentum(site), site);
    const Operation of_mean = update_average_by(moving_mean, found[1], kept, site).op();
    const Operation of_variance = update_average_by(moving_variance, found[2], kept, site).op();
    add_update(of_mean);
    add_update(of_variance);
    record({found[1], found[2]}, inputs, of_mean, of_variance);
  }
  return found[0];
}

/// Returns the share of an average that stays: all of it in a run that does not train.
Tensor BatchNormBody::momentum(Site site) const {
  const Operand in_use(options_.momentum, site);
  if (training_.value()) return convert_to_tensor(in_use, {}, site);
  return cond(
      training_.tensor(), [&] { return in_use; }, [&] { return Operand(1.0, site); }, {}, site);
}

Tensor BatchNormBody::call_composed(const Tensor& inputs, Site site) {
  const Parameters own = parameters(inputs.shape(), site);
  if (!training_.may_be(true)) {
    return normalize(inputs, own, {Tensor(moving_mean), Tensor(moving_variance)}, site);
  }
  const nn::Moments of_batch = moments_of(inputs, site);
  const Tensor mean = in_use(of_batch.mean, moving_mean, site);
  const Tensor variance = in_use(of_batch.variance, moving_variance, site);
  const Operation of_mean = move_average(moving_mean, mean, site);
  const Operation of_variance = move_average(moving_variance, variance, site);
  record({mean, variance}, inputs, of_mean, of_variance);
  return normalize(inputs, own, {mean, variance}, site);
}

std::vector<int> BatchNormBody::averaged_axes(const Shape& inputs) const {
  std::vector<int> others;
  for (int i = 0; i < static_cast<int>(inputs.rank()); ++i) {
    if (std::find(axis_.begin(), axis_.end(), i) == axis_.end()) others.push_back(i);
  }
  return others;
}

nn::Moments BatchNormBody::moments_of(const Tensor& inputs, Site site) const {
  return nn::moments(Operand(inputs, site), averaged_axes(inputs.shape()),
                     {.keepdims = axis_.size() > 1}, site);
}

Tensor BatchNormBody::in_use(const Tensor& of_batch, const Variable& average, Site site) const {
  return in_training(
      training_, [&] { return of_batch; },
      [&] { return convert_to_tensor(Operand(average, site), {}, site); }, site);
}

Operation BatchNormBody::move_average(const Variable& average, const Tensor& value, Site site) {
  const Tensor updated = in_training(
      training_, [&] { return update_average(average, value, options_.momentum, site); },
      [&] { return Tensor(average); }, site);
  add_update(updated.op());
  return updated.op();
}

void BatchNormBody::record(const nn::Moments& of_batch, const Tensor& inputs, Operation mean_update,
                           Operation variance_update) const {
  add_batch_moments({.moving_mean = moving_mean,
                     .moving_variance = moving_variance,
                     .sample = {.mean = of_batch.mean,
                                .variance = of_batch.variance,
                                .inputs = inputs,
                                .axes = averaged_axes(inputs.shape()),
                                .unbiased = fused_},
                     .momentum = options_.momentum,
                     .training = training_,
                     .mean_update = mean_update,
                     .variance_update = variance_update});
}

BatchNormBody::Parameters BatchNormBody::parameters(const Shape& inputs, Site site) const {
  Parameters own;
  const auto broadcast = [&](const Variable& weight) {
    return broadcast_parameter(Operand(weight, site), weight.shape(), inputs, site);
  };
  if (options_.scale) own.scale = broadcast(gamma);
  if (options_.center) own.offset = broadcast(beta);
  return own;
}

Tensor BatchNormBody::normalize(const Tensor& inputs, const Parameters& own,
                                const nn::Moments& moments, Site site) const {
  const Shape shape = inputs.shape();
  const auto broadcast = [&](const Tensor& moment) {
    return broadcast_parameter(Operand(moment, site), moment.shape(), shape, site);
  };
  const Operand mean = broadcast(moments.mean);
  const Operand variance = broadcast(moments.variance);
  Tensor result = nn::batch_normalization(Operand(inputs, site), mean, variance, own.offset,
                                          own.scale, Operand(options_.epsilon, site), {}, site);
  result.set_shape(shape, site);
  return result;
}

void BatchNormBody::check_axes(const Shape& shape, Site site) {
  const std::vector<int> given = axis_;
  const auto refuse = [&](const std::string& what) {
    throw ValueError(fmt::format("{} Received: axis=({}), input shape {}", what,
                                 fmt::join(given, ", "), shape.text()),
                     {.site = site, .op = name()});
  };
  if (!shape.has_rank()) refuse("Input has undefined rank.");
  for (int& axis : axis_) {
    const auto normal = normalized_axis(axis, shape.rank());
    if (!normal) refuse("Invalid value for `axis` argument. Expected 0 <= axis < inputs.rank.");
    axis = static_cast<int>(*normal);
  }
  std::vector<int> sorted = axis_;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
    refuse("Duplicate axis.");
  }
}

bool BatchNormBody::can_be_fused(const Shape& shape) const {
  return shape.rank() == 4 && axis_.size() == 1 && (axis_[0] == 1 || axis_[0] == 3) &&
         *dtype() == DType::float32;
}

Shape BatchNormBody::parameter_shape(const Shape& shape) const {
  if (axis_.size() == 1) return {shape[axis_[0]]};
  std::vector<Dim> dims(shape.rank(), Dim(1));
  for (const int axis : axis_) dims[static_cast<std::size_t>(axis)] = shape[axis];
  return Shape(std::move(dims));
}

void BatchNormBody::add_weights(const Shape& shape, Site site) {
  if (options_.scale) {
    gamma = add_weight("gamma", shape,
                       {.initializer = options_.gamma_initializer,
                        .regularizer = options_.gamma_regularizer,
                        .constraint = options_.gamma_constraint},
                       site);
  }
  if (options_.center) {
    beta = add_weight("beta", shape,
                      {.initializer = options_.beta_initializer,
                       .regularizer = options_.beta_regularizer,
                       .constraint = options_.beta_constraint},
                      site);
  }
  // As in TensorFlow, the averages are not partitioned.
  const Partitioner partitioner = scope()->partitioner();
  scope()->set_partitioner({});
  const auto add_average = [&](const char* weight, const std::optional<Initializer>& initial) {
    return add_weight(weight, shape,
                      {.initializer = initial,
                       .trainable = false,
                       .synchronization = VariableSynchronization::ON_READ,
                       .aggregation = VariableAggregation::MEAN},
                      site);
  };
  moving_mean = add_average("moving_mean", options_.moving_mean_initializer);
  moving_variance = add_average("moving_variance", options_.moving_variance_initializer);
  scope()->set_partitioner(partitioner);
}

/// Reshapes a vector so that it broadcasts along an axis that is not the last.
Operand BatchNormBody::broadcast_parameter(const Operand& value, const Shape& own,
                                           const Shape& inputs, Site site) const {
  const std::vector<int> others = averaged_axes(inputs);
  bool last = true;
  for (std::size_t i = 0; i < others.size(); ++i) last = last && others[i] == static_cast<int>(i);
  if (own.rank() == inputs.rank() || last) return value;
  std::vector<Nested> sizes(inputs.rank(), Nested(1));
  sizes[static_cast<std::size_t>(axis_[0])] = Nested(inputs.size(axis_[0]));
  return Operand(reshape(value, Operand(Nested(std::move(sizes)), site), {}, site), site);
}

Tensor batch_normalization(const Operand& inputs, BatchNormalizationLayerOptions options,
                           Site site) {
  const DefaultGraphGuard graph(graph_of(inputs));
  options.scope = options.name;
  return BatchNormalization(std::move(options), site)(inputs, site);
}

}  // namespace towerflow::layers

namespace towerflow::layers::types {

BatchNormalization::BatchNormalization(BatchNormalizationLayerOptions options, Site site)
    : Layer(std::make_shared<BatchNormBody>(std::move(options), site)) {}

Tensor BatchNormalization::operator()(const Operand& inputs, Training training, Site site) const {
  return body<BatchNormBody>().apply_in_mode(inputs, training, site);
}

Variable BatchNormalization::gamma() const { return body<BatchNormBody>().gamma; }
Variable BatchNormalization::beta() const { return body<BatchNormBody>().beta; }
Variable BatchNormalization::moving_mean() const { return body<BatchNormBody>().moving_mean; }
Variable BatchNormalization::moving_variance() const {
  return body<BatchNormBody>().moving_variance;
}

}  // namespace towerflow::layers::types
