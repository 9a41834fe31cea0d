#include "ops/nn/soft_cross_entropy.h"

#include <fmt/format.h>

#include <cmath>
#include <span>

#include "core/graph/op_builder.h"
#include "ops/array/cast.h"
#include "ops/array/concat.h"
#include "ops/array/indexed_slices.h"
#include "ops/array/operands.h"
#include "ops/array/rank_size.h"
#include "ops/array/shape_of.h"
#include "ops/array/slice.h"
#include "ops/array/transpose.h"
#include "ops/array/view.h"
#include "ops/family.h"
#include "ops/math/binary.h"
#include "ops/math/range.h"
#include "ops/math/reduce.h"
#include "ops/math/unary.h"
#include "ops/nn/kernels.h"
#include "ops/nn/softmax.h"
#include "ops/nn/window_args.h"
#include "ops/simd/loops.h"

namespace towerflow::nn {
namespace {

constexpr const char* kOp = "SoftmaxCrossEntropyWithLogits";

void soft_shape(InferenceContext& context) {
  require_dtype(context, 0, "features", kFloats);
  require_dtype(context, 1, "labels", {context.dtype(0)});
  require_rank(context, 0, 2);
  require_rank(context, 1, 2);
  const Shape& logits = context.shape(0);
  const Shape& labels = context.shape(1);
  if (!logits.compatible(labels)) {
    fail_with_shapes(context, "logits and labels must have the same shape");
  }
  const auto dim = [&](std::size_t axis) {
    const Dim known = logits.has_rank() ? logits[axis] : Dim(None);
    return known.known() || !labels.has_rank() ? known : labels[axis];
  };
  context.add_output(context.dtype(0), Shape{dim(0)});
  context.add_output(context.dtype(0), Shape{dim(0), dim(1)});
}

/// The gradient of the loss is output 1 (softmax - labels) with each row times its dy. The gradient
/// of output 1 itself goes back through the softmax.
std::vector<OptionalGradient> soft_gradient(const Operation& op,
                                            const std::vector<OptionalGradient>& dys) {
  const Site site = op.site();
  const auto multiply_rows = [&](const Tensor& rows) {
    const Tensor column = expand_dims(dense_gradient(dys[0], site), -1, {}, site);
    return multiply(column, rows, {}, site);
  };
  OptionalGradient dlogits, dlabels;
  if (dys[0]) dlogits = multiply_rows(op.output(1));
  if (dys[1]) {
    const Tensor dy = dense_gradient(dys[1], site);
    const Tensor y = softmax(op.input(0), {}, site);
    const Tensor sums = reduce_sum(multiply(dy, y, {}, site), -1, {.keepdims = true}, site);
    const Tensor through = multiply(subtract(dy, sums, {}, site), y, {}, site);
    dlogits = dlogits ? add(dlogits->dense(), through, {}, site) : through;
    dlabels = negative(dy, {}, site);
  }
  if (dys[0]) {
    const Tensor of_loss = multiply_rows(negative(log_softmax(op.input(0), {}, site), {}, site));
    dlabels = dlabels ? add(dlabels->dense(), of_loss, {}, site) : of_loss;
  }
  return {dlogits, dlabels};
}

void exponentials(float* x, std::int64_t n) { simd::loops().exp(x, x, n); }
void exponentials(double* x, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) x[i] = std::exp(x[i]);
}

/// Returns the loss of one row; `dlogits` receives its gradient with respect to the logits.
template <class T>
T loss_of_row(const T* logits, const T* labels, T* dlogits, std::int64_t classes) {
  T largest = logits[0];
  for (std::int64_t j = 1; j < classes; ++j) largest = std::max(largest, logits[j]);
  for (std::int64_t j = 0; j < classes; ++j) dlogits[j] = logits[j] - largest;
  exponentials(dlogits, classes);
  T sum(0);
  for (std::int64_t j = 0; j < classes; ++j) sum += dlogits[j];
  const T log_sum = std::log(sum);
  T loss(0);
  for (std::int64_t j = 0; j < classes; ++j) {
    loss += labels[j] * (log_sum - (logits[j] - largest));
    dlogits[j] = dlogits[j] / sum - labels[j];
  }
  return loss;
}

template <class T>
std::unique_ptr<PreparedKernel> soft_kernel(const KernelRequest& request) {
  const Shape& logits = request.inputs[0].shape;
  const std::int64_t classes = logits.size(1);
  return rows_kernel(logits.size(0), classes,
                     [classes](SliceRange range, const void* const* inputs, void* const* outputs) {
                       for (std::int64_t i = range.begin; i < range.end; ++i) {
                         const std::int64_t at = i * classes;
                         out<T>(outputs, 0)[i] =
                             classes == 0
                                 ? T(0)
                                 : loss_of_row(in<T>(inputs, 0) + at, in<T>(inputs, 1) + at,
                                               out<T>(outputs, 1) + at, classes);
                       }
                     });
}

/// Reshapes [N.., C] to [product of N.., C] with TensorFlow's nodes.
Tensor rows_of(const Tensor& x, Site site) {
  const Operand dims(rank(x, {}, site), site);
  const Tensor sizes = shape(x, {}, site);
  const Tensor last = subtract(dims, 1, {}, site);
  const Tensor classes = slice(sizes, Operand(std::vector<Tensor>{last}, site), {1}, {}, site);
  const Tensor rows_and_classes =
      concat({Operand({-1}, site), Operand(classes, site)}, 0, {}, site);
  Tensor rows = reshape(x, rows_and_classes, {}, site);
  const Shape& known = x.shape();
  if (!known.has_rank()) return rows;
  if (known.rank() == 0) {
    throw ValueError(
        fmt::format("logits and labels have at least one dimension, {} has none", x.name()),
        {.site = site, .op = kOp});
  }
  const std::span<const Dim> sizes_of_rows(known.dims().data(), known.rank() - 1);
  if (const auto count = product(sizes_of_rows)) {
    rows.set_shape(Shape{Dim(*count), known[known.rank() - 1]}, site);
  }
  return rows;
}

/// Moves an axis behind the others.
Tensor with_axis_last(const Tensor& x, int axis, const Tensor& dims, Site site) {
  const Tensor before = range(axis, {}, site);
  const Tensor after = range(axis + 1, dims, 1, {}, site);
  const Tensor order =
      concat({Operand(before, site), Operand(after, site), Operand({axis}, site)}, 0, {}, site);
  return transpose(x, order, {}, site);
}

std::vector<Tensor> given_tensors(const SoftmaxCrossEntropyOptions& options, const char* op,
                                  Site site) {
  if (is_missing(options.labels) || is_missing(options.logits)) {
    throw ValueError(
        fmt::format("Both `labels` and `logits` must be provided. Received: {} missing",
                    is_missing(options.labels) ? "labels" : "logits"),
        {.site = site, .op = op});
  }
  std::vector<Tensor> tensors;
  for (const Operand* operand : {&options.logits, &options.labels}) {
    if (const Tensor* tensor = operand->any_tensor()) tensors.push_back(*tensor);
  }
  return tensors;
}

std::optional<std::string> named(const std::string& name) {
  return name.empty() ? std::nullopt : std::optional(name);
}

}  // namespace

static void register_soft_cross_entropy_ops(OpRegistry& registry) {
  registry.add({.name = kOp,
                .inputs = {"features: T", "labels: T"},
                .outputs = {"loss: T", "backprop: T"},
                .shape = soft_shape,
                .gradient = soft_gradient});
}

static void register_soft_cross_entropy_kernels(KernelTable& table) {
  add_kernel(table, kOp, "simd", 0, {DType::float32}, soft_kernel<float>);
  add_kernel(table, kOp, "reference", 0, {DType::float64}, soft_kernel<double>);
}

Tensor softmax_cross_entropy_with_logits_v2(SoftmaxCrossEntropyOptions options, Site site) {
  const char* op = "softmax_cross_entropy_with_logits";
  if (options.axis && options.dim) {
    throw ValueError("Cannot specify both 'dim' and 'axis'.", {.site = site, .op = op});
  }
  const int axis = options.axis.value_or(options.dim.value_or(-1));
  const NameScope scope = name_scope(
      named(options.name), {.default_name = op, .values = given_tensors(options, op, site)}, site);
  Graph& graph = get_default_graph();
  Tensor logits = convert_operand(graph, options.logits, "logits", std::nullopt);
  const Shape known = logits.shape();
  Tensor labels = convert_operand(graph, options.labels, "labels", std::nullopt);
  labels = cast(labels, logits.dtype(), {}, site);
  const Operand dims(rank(logits, {}, site), site);
  if (axis != -1) {
    logits = with_axis_last(logits, axis, *dims.tensor(), site);
    labels = with_axis_last(labels, axis, *dims.tensor(), site);
  }
  const Tensor sizes = shape(logits, {}, site);
  const Tensor logit_rows = rows_of(logits, site);
  const Tensor label_rows = rows_of(labels, site);
  const Operand features(logit_rows, site);
  const Tensor losses = OpBuilder(kOp, scope.name(), site, {&features})
                            .input(features, "features")
                            .input(label_rows, "labels")
                            .output();
  const Tensor outer = subtract(dims, 1, {}, site);
  Tensor outer_sizes = slice(sizes, {0}, Operand(std::vector<Tensor>{outer}, site), {}, site);
  if (known.has_rank()) {
    outer_sizes.set_shape(Shape{static_cast<std::int64_t>(known.rank()) - 1}, site);
  }
  Tensor shaped = reshape(losses, outer_sizes, {}, site);
  if (known.has_rank()) {
    std::vector<Dim> others(known.dims().begin(), known.dims().end());
    others.erase(axis < 0 ? others.end() + axis : others.begin() + axis);
    shaped.set_shape(Shape(std::move(others)), site);
  }
  return shaped;
}

Tensor softmax_cross_entropy_with_logits(SoftmaxCrossEntropyOptions options, Site site) {
  const char* op = "softmax_cross_entropy_with_logits_sg";
  std::string within;
  {
    const NameScope scope =
        name_scope(named(options.name),
                   {.default_name = op, .values = given_tensors(options, op, site)}, site);
    within = scope.name();
    options.labels =
        Operand(stop_gradient(options.labels, {.name = "labels_stop_gradient"}, site), site);
  }
  options.name = within;
  return softmax_cross_entropy_with_logits_v2(std::move(options), site);
}

}  // namespace towerflow::nn

namespace towerflow {
OpFamily soft_cross_entropy_family() {
  return {.ops = nn::register_soft_cross_entropy_ops,
          .kernels = nn::register_soft_cross_entropy_kernels};
}
}  // namespace towerflow
