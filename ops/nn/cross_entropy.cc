#include "ops/nn/cross_entropy.h"

#include <fmt/format.h>

#include "core/graph/op_builder.h"
#include "core/graph/scopes.h"
#include "ops/array/indexed_slices.h"
#include "ops/array/operands.h"
#include "ops/array/rank_size.h"
#include "ops/array/shape_of.h"
#include "ops/array/stack.h"
#include "ops/array/strided_slice.h"
#include "ops/array/view.h"
#include "ops/data_flow/assert.h"
#include "ops/family.h"
#include "ops/math/binary.h"
#include "ops/math/reduce.h"
#include "ops/nn/softmax.h"
#include "ops/nn/window_args.h"

namespace towerflow::nn {
namespace {

void sparse_shape(InferenceContext& context) {
  require_dtype(context, 0, "features", kFloats);
  require_dtype(context, 1, "labels", {DType::int32, DType::int64});
  require_rank(context, 0, 2);
  require_rank(context, 1, 1);
  const auto dim = [&](std::size_t input, std::size_t axis) {
    return context.shape(input).has_rank() ? context.shape(input)[axis] : Dim(None);
  };
  const Dim batch = dim(0, 0), labels = dim(1, 0), classes = dim(0, 1);
  if (batch.known() && labels.known() && batch != labels) {
    fail_with_shapes(context, fmt::format("Dimensions must be equal, but are {} and {}",
                                          batch.size(), labels.size()));
  }
  if (classes.known() && classes.size() == 0) {
    fail_with_shapes(context, "Must have at least one class");
  }
  const Dim rows = batch.known() ? batch : labels;
  context.add_output(context.dtype(0), Shape{rows});
  context.add_output(context.dtype(0), Shape{rows, classes});
}

/// The gradient of the loss is output 1 (softmax - one_hot) with each row times its dy. The
/// gradient of output 1 itself goes back through the softmax.
std::vector<OptionalGradient> sparse_gradient(const Operation& op,
                                              const std::vector<OptionalGradient>& dys) {
  const Site site = op.site();
  OptionalGradient dlogits;
  if (dys[0]) {
    const Tensor column = expand_dims(dense_gradient(dys[0], op.site()), -1, {}, site);
    dlogits = multiply(column, op.output(1), {}, site);
  }
  if (dys[1]) {
    const Tensor dy = dense_gradient(dys[1], op.site());
    const Tensor y = softmax(op.input(0), {}, site);
    const Tensor sums = reduce_sum(multiply(dy, y, {}, site), -1, {.keepdims = true}, site);
    const Tensor through = multiply(subtract(dy, sums, {}, site), y, {}, site);
    dlogits = dlogits ? add(dlogits->dense(), through, {}, site) : through;
  }
  return {dlogits, std::nullopt};
}

/// Makes TensorFlow's checks of the static shapes, before the node is added.
void check_shapes(const Tensor& labels, const Tensor& logits, Site site) {
  const Shape& label_shape = labels.shape();
  const Shape& logit_shape = logits.shape();
  if (logit_shape.has_rank() && logit_shape.rank() == 0) {
    throw ValueError(fmt::format("`logits` cannot be a scalar. Received logits={}", logits.name()),
                     {.site = site});
  }
  if (!label_shape.has_rank() || !logit_shape.has_rank()) return;
  if (label_shape.rank() + 1 != logit_shape.rank()) {
    throw ValueError(
        fmt::format("`labels.shape.rank` must equal `logits.shape.rank - 1`. Received: "
                    "labels.shape={} of rank {} and logits.shape={} of rank {}",
                    label_shape.text(), label_shape.rank(), logit_shape.text(), logit_shape.rank()),
        {.site = site, .hint = "labels must be class numbers, not one-hot rows"});
  }
  for (std::size_t i = 0; i < label_shape.rank(); ++i) {
    if (!label_shape[i].known() || !logit_shape[i].known() || label_shape[i] == logit_shape[i])
      continue;
    throw ValueError(fmt::format("`labels.shape` must equal `logits.shape` except for the last "
                                 "dimension. Received: labels.shape={} and logits.shape={}",
                                 label_shape.text(), logit_shape.text()),
                     {.site = site});
  }
}

Tensor tensor_of(Graph& graph, const Operand& operand) {
  return convert_operand(graph, operand, "", std::nullopt);
}

Tensor cross_entropy(const Tensor& logits, const Tensor& labels, const std::string& name,
                     Site site) {
  const Operand features(logits, site);
  return OpBuilder("SparseSoftmaxCrossEntropyWithLogits", name, site, {&features})
      .input(features, "features")
      .input(labels, "labels")
      .output();
}

/// Returns whether `check_shapes` has compared all sizes.
bool are_compared(const Tensor& labels, const Tensor& logits) {
  bool known = labels.shape().fully_known() && logits.shape().has_rank();
  for (std::size_t i = 0; known && i + 1 < logits.shape().rank(); ++i) {
    known = logits.shape()[i].known();
  }
  return known;
}

/// Compares in the run the sizes that are not known statically. (tf.assert_equal)
Operation assert_same_rows(const Tensor& labels, const Tensor& logits, Site site) {
  Graph& graph = labels.graph();
  const Tensor x = shape(labels, {}, site);
  const Tensor y = take_range(shape(logits, {}, site), std::nullopt, -1, site);
  { const NameScope unused(graph, "assert_equal", site); }  // TensorFlow enters it twice
  const NameScope scope(graph, "assert_equal", site);
  const Tensor same = reduce_all(equal(x, y, {}, site), {}, site);
  return Assert(same,
                {"Condition x == y did not hold element-wise:", fmt::format("x ({}) = ", x.name()),
                 Operand(x, site), fmt::format("y ({}) = ", y.name()), Operand(y, site)},
                {}, site);
}

/// Returns the number of classes with TensorFlow's nodes: shape(logits)[rank(logits) - 1].
Tensor last_size(const Tensor& logits, Site site) {
  const Tensor sizes = shape(logits, {}, site);
  const Tensor last = Operand(rank(logits, {}, site), site) - Operand(1, site);
  const Tensor end = Operand(last, site) + Operand(1, site);
  const NameScope scope(logits.graph(), "strided_slice", site);
  const Tensor from = stack({last}, {.name = "stack"}, site);
  const Tensor to = stack({end}, {.name = "stack_1"}, site);
  const Tensor step = convert_operand(logits.graph(), Operand({1}, site), "stack_2", std::nullopt);
  return strided_slice(sizes, from, to, step, {.shrink_axis_mask = 1, .name = scope.name()}, site);
}

}  // namespace

static void register_cross_entropy_ops(OpRegistry& registry) {
  registry.add({.name = "SparseSoftmaxCrossEntropyWithLogits",
                .inputs = {"features: T", "labels: Tlabels"},
                .outputs = {"loss: T", "backprop: T"},
                .shape = sparse_shape,
                .gradient = sparse_gradient});
}

Tensor sparse_softmax_cross_entropy_with_logits(SparseSoftmaxCrossEntropyOptions options,
                                                Site site) {
  const char* op = "SparseSoftmaxCrossEntropyWithLogits";
  if (is_missing(options.labels) || is_missing(options.logits)) {
    throw ValueError(
        fmt::format("Both `labels` and `logits` must be provided. Received: {} missing",
                    is_missing(options.labels) ? "labels" : "logits"),
        {.site = site, .op = op});
  }
  Graph& graph = graph_of(options.logits, options.labels);
  const NameScope scope(graph, options.name.empty() ? op : options.name, site);
  const Tensor labels = tensor_of(graph, options.labels);
  const Tensor logits = tensor_of(graph, options.logits);
  // TensorFlow adds this node whether it is needed or not.
  const Tensor label_sizes = shape(labels, {}, site);
  check_shapes(labels, logits, site);
  if (logits.shape().has_rank() && logits.shape().rank() == 2) {
    return cross_entropy(logits, labels, options.name, site);
  }
  std::vector<Operation> checks;
  if (!are_compared(labels, logits)) checks.push_back(assert_same_rows(labels, logits, site));
  const ControlDependencies after = control_dependencies(checks, site);
  const Tensor classes = last_size(logits, site);
  const Tensor rows = reshape(logits, {-1, classes}, {}, site);
  const Tensor flat = reshape(labels, {-1}, {}, site);
  Tensor losses = reshape(cross_entropy(rows, flat, options.name, site), label_sizes, {}, site);
  losses.set_shape(labels.shape(), site);
  return losses;
}

}  // namespace towerflow::nn

namespace towerflow {
OpFamily cross_entropy_family() { return {.ops = nn::register_cross_entropy_ops}; }
}  // namespace towerflow
