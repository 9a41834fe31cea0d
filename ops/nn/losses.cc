#include "ops/nn/losses.h"

#include <fmt/format.h>

#include <tuple>

#include "core/graph/scopes.h"
#include "ops/array/cast.h"
#include "ops/array/fill.h"
#include "ops/array/rank_size.h"
#include "ops/array/select.h"
#include "ops/array/shape_of.h"
#include "ops/array/strided_slice.h"
#include "ops/array/view.h"
#include "ops/control/cond.h"
#include "ops/math/binary.h"
#include "ops/math/range.h"
#include "ops/math/reduce.h"
#include "ops/math/squeezable.h"
#include "ops/math/unary.h"
#include "ops/nn/cross_entropy.h"
#include "ops/nn/loss_collections.h"
#include "ops/nn/relu.h"
#include "ops/nn/sigmoid_cross_entropy.h"
#include "ops/nn/soft_cross_entropy.h"
#include "ops/nn/weights_broadcast.h"

namespace towerflow::losses {
namespace {

Operand with_site(const Tensor& tensor, Site site) { return Operand(tensor, site); }

/// Opens the scope of a loss, in the graph of its operands.
template <class Options>
NameScope open_loss_scope(const char* default_name, const Options& options,
                          const Operand& predictions, const Operand& labels, Site site) {
  std::vector<Tensor> values;
  const Operand& weights = options.weights;
  for (const Operand* operand : {&predictions, &labels, &weights}) {
    if (const Tensor* tensor = operand->any_tensor()) values.push_back(*tensor);
  }
  return name_scope(options.scope, {.default_name = default_name, .values = values}, site);
}

/// Weights and reduces the losses in the scope of the loss.
template <class Options>
Tensor reduce_weighted(const Tensor& losses, const Options& options, const NameScope& scope,
                       Site site) {
  return compute_weighted_loss(losses,
                               {.weights = options.weights,
                                .scope = scope.name(),
                                .loss_collection = options.loss_collection,
                                .reduction = options.reduction},
                               site);
}

void check_same_shape(const Tensor& predictions, const Tensor& labels, Site site) {
  if (predictions.shape().compatible(labels.shape())) return;
  throw ValueError(
      fmt::format("Shapes {} and {} are incompatible", predictions.shape().text(),
                  labels.shape().text()),
      {.site = site, .hint = "labels and predictions of a loss must have the same shape"});
}

struct Pair {
  Tensor predictions, labels;
};

Pair as_floats(const Operand& predictions, const Operand& labels, Site site) {
  Pair pair;
  pair.predictions = cast(predictions, DType::float32, {}, site);
  pair.labels = cast(labels, DType::float32, {}, site);
  check_same_shape(pair.predictions, pair.labels, site);
  return pair;
}

/// Converts logits to a tensor and labels to its dtype.
Pair as_logits(const Operand& logits, const Operand& labels, Site site) {
  Pair pair;
  pair.predictions = convert_operand(get_default_graph(), logits, "", std::nullopt);
  pair.labels = cast(labels, pair.predictions.dtype(), {}, site);
  check_same_shape(pair.predictions, pair.labels, site);
  return pair;
}

/// Returns weights without a last dimension of size 1 that the labels do not have.
/// (losses_impl._remove_squeezable_dimensions)
Tensor weights_like_labels(const Operand& weights, const Tensor& labels, Site site) {
  const Tensor given = convert_operand(get_default_graph(), weights, "", std::nullopt);
  const Shape& known = given.shape();
  if (known.has_rank() && labels.shape().has_rank()) {
    return known.rank() == labels.shape().rank() + 1 ? without_last_dimension(given, site) : given;
  }
  const Tensor given_rank = rank(given, {}, site);
  const Tensor wanted_rank = rank(labels, {}, site);
  const Tensor difference = with_site(given_rank, site) - with_site(wanted_rank, site);
  if (!may_be_squeezed(known)) return given;
  const Tensor has_more = equal(1, difference, {}, site);
  return cond(
      has_more, [&] { return without_last_dimension(given, site); }, [&] { return given; }, {},
      site);
}

}  // namespace

Tensor absolute_difference(const Operand& labels, const Operand& predictions, LossOptions options,
                           Site site) {
  const NameScope scope =
      open_loss_scope("absolute_difference", options, predictions, labels, site);
  const Pair p = as_floats(predictions, labels, site);
  const Tensor losses = abs(subtract(p.predictions, p.labels, {}, site), {}, site);
  return reduce_weighted(losses, options, scope, site);
}

Tensor mean_squared_error(const Operand& labels, const Operand& predictions, LossOptions options,
                          Site site) {
  const NameScope scope = open_loss_scope("mean_squared_error", options, predictions, labels, site);
  const Pair p = as_floats(predictions, labels, site);
  return reduce_weighted(squared_difference(p.predictions, p.labels, {}, site), options, scope,
                         site);
}

/// Twice the squares over the count, or 0 where the count is not positive.
static Tensor doubled_mean(const Tensor& squares, const Tensor& count, Site site) {
  const Tensor mean = div_no_nan(squares, maximum(count, 0, {}, site), {.name = "value"}, site);
  return Operand(2.0, site) * with_site(mean, site);
}

Tensor mean_pairwise_squared_error(const Operand& labels, const Operand& predictions,
                                   PairwiseLossOptions options, Site site) {
  const NameScope scope =
      open_loss_scope("mean_pairwise_squared_error", options, predictions, labels, site);
  const Tensor weights = cast(options.weights.at(site), DType::float32, {}, site);
  const Tensor wanted = cast(labels, DType::float32, {}, site);
  const Operation checked = assert_broadcastable(weights, wanted, site);
  const ControlDependencies after = control_dependencies({checked}, site);
  const Tensor found = cast(predictions, DType::float32, {}, site);
  check_same_shape(found, wanted, site);
  const Tensor errors = subtract(found, wanted, {}, site);
  const Tensor dims = rank(errors, {}, site);
  const Tensor axes = range(1, dims, 1, {}, site);
  const Tensor squares = reduce_sum(square(errors, {}, site), axes, {.keepdims = true}, site);
  const Tensor present = num_present(errors, weights, true, site);
  const Tensor others = with_site(present, site) - Operand(1, site);
  const Tensor first = doubled_mean(squares, others, site);
  const Tensor sum = reduce_sum(errors, axes, {.keepdims = true}, site);
  const Tensor squared_sum = square(sum, {}, site);
  const Tensor rest = with_site(present, site) - Operand(1, site);
  const Tensor pairs = multiply(present, rest, {}, site);
  const Tensor second = doubled_mean(squared_sum, pairs, site);
  const Tensor weighted =
      multiply(with_site(first, site) - with_site(second, site), weights, {}, site);
  const Tensor loss = reduce_sum(weighted, {}, site);
  const Tensor count = reduce_sum(present, {}, site);
  const Tensor any = with_site(count, site) > Operand(0, site);
  const Tensor zero = zeros_like(loss, {}, site);
  const Tensor mean = where(any, loss, zero, {.name = "value"}, site);
  add_loss(mean, options.loss_collection);
  return mean;
}

Tensor cosine_distance(const Operand& labels, const Operand& predictions, int axis,
                       LossOptions options, Site site) {
  const NameScope scope =
      open_loss_scope("cosine_distance_loss", options, predictions, labels, site);
  const Pair p = as_floats(predictions, labels, site);
  const Tensor products = multiply(p.predictions, p.labels, {}, site);
  const Tensor sums = reduce_sum(products, {axis}, {.keepdims = true}, site);
  return reduce_weighted(Operand(1, site) - with_site(sums, site), options, scope, site);
}

Tensor hinge_loss(const Operand& labels, const Operand& logits, LossOptions options, Site site) {
  const NameScope scope = open_loss_scope("hinge_loss", options, logits, labels, site);
  const Pair p = as_floats(logits, labels, site);
  const Tensor ones = ones_like(p.labels, {}, site);
  const Tensor doubled = Operand(2, site) * with_site(p.labels, site);
  const Tensor signs = subtract(doubled, ones, {}, site);
  const Tensor margins = multiply(signs, p.predictions, {}, site);
  const Tensor losses = nn::relu(subtract(ones, margins, {}, site), {}, site);
  return reduce_weighted(losses, options, scope, site);
}

Tensor huber_loss(const Operand& labels, const Operand& predictions, HuberLossOptions options,
                  Site site) {
  const NameScope scope = open_loss_scope("huber_loss", options, predictions, labels, site);
  const Pair p = as_floats(predictions, labels, site);
  const Tensor error = abs(subtract(p.predictions, p.labels, {}, site), {}, site);
  const Tensor quadratic = minimum(error, options.delta, {}, site);
  const Tensor linear = subtract(error, quadratic, {}, site);
  const Tensor half = convert_operand(get_default_graph(), Operand(0.5, site), "", DType::float32);
  const Tensor square = multiply(quadratic, quadratic, {}, site);
  const Tensor near = multiply(half, square, {}, site);
  const Tensor far = multiply(options.delta, linear, {}, site);
  return reduce_weighted(add(near, far, {}, site), options, scope, site);
}

Tensor log_loss(const Operand& labels, const Operand& predictions, LogLossOptions options,
                Site site) {
  const NameScope scope = open_loss_scope("log_loss", options, predictions, labels, site);
  const Pair p = as_floats(predictions, labels, site);
  const Operand epsilon(options.epsilon, site), one(1, site);
  const Tensor log_true = log(with_site(p.predictions, site) + epsilon, {}, site);
  const Tensor if_true = -with_site(multiply(p.labels, log_true, {}, site), site);
  const Tensor others = one - with_site(p.labels, site);
  const Tensor rest = one - with_site(p.predictions, site);
  const Tensor log_false = log(with_site(rest, site) + epsilon, {}, site);
  const Tensor if_false = multiply(others, log_false, {}, site);
  return reduce_weighted(with_site(if_true, site) - with_site(if_false, site), options, scope,
                         site);
}

Tensor sigmoid_cross_entropy(const Operand& multi_class_labels, const Operand& logits,
                             CrossEntropyLossOptions options, Site site) {
  const NameScope scope =
      open_loss_scope("sigmoid_cross_entropy_loss", options, logits, multi_class_labels, site);
  Pair p = as_logits(logits, multi_class_labels, site);
  if (options.label_smoothing > 0) {
    const Tensor kept = with_site(p.labels, site) * Operand(1 - options.label_smoothing, site);
    p.labels = with_site(kept, site) + Operand(0.5 * options.label_smoothing, site);
  }
  const Tensor losses = nn::sigmoid_cross_entropy_with_logits(
      {.labels = p.labels, .logits = p.predictions, .name = "xentropy"}, site);
  return reduce_weighted(losses, options, scope, site);
}

Tensor softmax_cross_entropy(const Operand& onehot_labels, const Operand& logits,
                             CrossEntropyLossOptions options, Site site) {
  const NameScope scope =
      open_loss_scope("softmax_cross_entropy_loss", options, logits, onehot_labels, site);
  Pair p = as_logits(logits, onehot_labels, site);
  if (options.label_smoothing > 0) {
    const Tensor last = take_index(shape(p.labels, {}, site), -1, site);
    const Tensor classes = cast(last, p.predictions.dtype(), {}, site);
    const Tensor spread = Operand(options.label_smoothing, site) / with_site(classes, site);
    const Tensor kept = with_site(p.labels, site) * Operand(1.0 - options.label_smoothing, site);
    p.labels = with_site(kept, site) + with_site(spread, site);
  }
  p.labels = stop_gradient(p.labels, {.name = "labels_stop_gradient"}, site);
  const Tensor losses = nn::softmax_cross_entropy_with_logits_v2(
      {.labels = p.labels, .logits = p.predictions, .name = "xentropy"}, site);
  return reduce_weighted(losses, options, scope, site);
}

Tensor sparse_softmax_cross_entropy(const Operand& labels, const Operand& logits,
                                    LossOptions options, Site site) {
  const NameScope scope =
      open_loss_scope("sparse_softmax_cross_entropy_loss", options, logits, labels, site);
  Pair p;
  std::tie(p.labels, p.predictions) = remove_squeezable_dimensions(labels, logits, 1, site);
  options.weights = with_site(weights_like_labels(options.weights.at(site), p.labels, site), site);
  const Tensor losses = nn::sparse_softmax_cross_entropy_with_logits(
      {.labels = p.labels, .logits = p.predictions, .name = "xentropy"}, site);
  return reduce_weighted(losses, options, scope, site);
}

}  // namespace towerflow::losses
