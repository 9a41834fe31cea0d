#include "ops/math/norm.h"

#include <fmt/format.h>

#include <cmath>

#include "core/graph/op_builder.h"
#include "ops/array/select.h"
#include "ops/array/shape_of.h"
#include "ops/array/view.h"
#include "ops/math/binary.h"
#include "ops/math/unary.h"

namespace towerflow {
namespace {

[[noreturn]] void fail_norm(const std::string& message, Site site) {
  throw ValueError(message, {.site = site, .op = "norm"});
}

/// Returns the axes of a norm as numbers: none, one or two.
std::vector<int> norm_axes(const Axis& axis, Site site) {
  if (!axis.value()) return {};
  const char* wrong = "'axis' must be None, an integer, or a tuple of 2 unique integers";
  const Nested* nested = axis.value()->nested();
  if (nested == nullptr) fail_norm(wrong, site);
  if (const auto* one = std::get_if<std::int64_t>(&nested->value())) {
    return {static_cast<int>(*one)};
  }
  std::vector<int> axes;
  for (const Nested& item : std::get<std::vector<Nested>>(nested->value())) {
    axes.push_back(static_cast<int>(std::get<std::int64_t>(item.value())));
  }
  if (axes.size() != 2 || axes[0] == axes[1]) fail_norm(wrong, site);
  return axes;
}

void check_order(const NormOrder& ord, bool of_matrix, Site site) {
  const bool named = !ord.name().empty();
  if (of_matrix) {
    if (named ? ord.is_euclidean() : ord.p() == 1 || ord.p() == 2 || ord.p() == INFINITY) return;
    fail_norm("'ord' must be a supported matrix norm in ['euclidean', 'fro', 1, 2, inf]", site);
  }
  if (named ? ord.name() == "euclidean" : ord.p() > 0) return;
  fail_norm("'ord' must be a supported vector norm: 'euclidean' or a positive number", site);
}

/// Reduces with the dimensions kept, over all dimensions without an axis.
Tensor kept_sum(const Tensor& x, const Axis& axis, Site site) {
  return reduce_sum(x, axis, {.keepdims = true}, site);
}
Tensor kept_max(const Tensor& x, const Axis& axis, Site site) {
  return reduce_max(x, axis, {.keepdims = true}, site);
}

Tensor power_norm(const Tensor& x, double p, const Axis& axis, Site site) {
  const Tensor powers = pow(abs(x, {}, site), Operand(p, site), {}, site);
  return pow(kept_sum(powers, axis, site), Operand(1.0 / p, site), {}, site);
}

Tensor kept_norm(const Tensor& x, const NormOrder& ord, const std::vector<int>& axes, Site site) {
  const bool of_matrix = axes.size() == 2;
  const Axis all = axes.empty() ? Axis(std::nullopt) : Axis(axes);
  if (ord.is_euclidean()) {
    if (of_matrix && ord.name().empty()) {
      throw errors::UnimplementedError(
          "the norm of order 2 of a matrix needs its singular values, which are not available",
          {.site = site, .op = "norm", .hint = "\"fro\" is the root of the sum of squares"});
    }
    const Tensor squares = Operand(x, site) * Operand(x, site);
    return sqrt(kept_sum(squares, all, site), {}, site);
  }
  if (ord.p() != 1 && ord.p() != INFINITY) return power_norm(x, ord.p(), all, site);
  const Axis first = axes.empty() ? Axis(std::nullopt) : Axis(axes[0]);
  Tensor result = abs(x, {}, site);
  if (ord.p() == 1) {
    result = kept_sum(result, first, site);
    return of_matrix ? kept_max(result, axes[1], site) : result;
  }
  if (of_matrix) result = kept_sum(result, axes[1], site);
  return kept_max(result, first, site);
}

}  // namespace

Tensor norm(const Operand& tensor, NormOptions options, Site site) {
  const bool keep = keeps_dims(options.keepdims, options.keep_dims, site);
  const std::vector<int> axes = norm_axes(options.axis, site);
  check_order(options.ord, axes.size() == 2, site);
  Graph& graph = graph_of(tensor);
  const NameScope scope(graph, options.name.empty() ? "norm" : options.name, site);
  const Tensor x = convert_operand(graph, tensor, "", std::nullopt);
  const Tensor result = kept_norm(x, options.ord, axes, site);
  return keep ? result : squeeze(result, {.axis = axes}, site);
}

Tensor norm(const Operand& tensor, NormOrder ord, NormOptions options, Site site) {
  options.ord = std::move(ord);
  return norm(tensor, std::move(options), site);
}

static Tensor logsumexp(const Operand& input, const Axis& axis, ReduceOptions options, Site site) {
  if (options.reduction_indices.value() && axis.value()) {
    throw ValueError("Cannot specify both 'reduction_indices' and 'axis'.",
                     {.site = site, .op = "ReduceLogSumExp"});
  }
  const Axis& axes = axis.value() ? axis : options.reduction_indices;
  const bool keep = keeps_dims(options.keepdims, options.keep_dims, site);
  Graph& graph = graph_of(input);
  const NameScope scope(graph, options.name.empty() ? "ReduceLogSumExp" : options.name, site);
  const Tensor largest = reduce_max(input, axes, {.keepdims = true}, site);
  const Tensor finite = is_finite(largest, {}, site);
  Tensor shift = stop_gradient(where_v2(finite, largest, 0, {}, site), {}, site);
  const Tensor exponentials = exp(subtract(input, shift, {}, site), {}, site);
  const Tensor sum = reduce_sum(exponentials, axes, {.keepdims = keep}, site);
  const Tensor logarithm = log(sum, {}, site);
  if (!keep) {
    const Tensor sizes = runtime_shape(logarithm, site);
    shift = reshape(shift, sizes, {}, site);
  }
  Tensor result = add(logarithm, shift, {.name = scope.name()}, site);
  if (!axes.value() && !keep) result.set_shape(Shape{}, site);
  return result;
}

template <class Unused>
Tensor reduce_logsumexp(const Operand& input, Axis axis, ReduceOptions options, Site site) {
  if (options.axis.value()) {
    throw TypeError("the axis of a reduction is given twice",
                    {.site = site, .op = "ReduceLogSumExp"});
  }
  return logsumexp(input, axis, std::move(options), site);
}
template Tensor reduce_logsumexp<void>(const Operand&, Axis, ReduceOptions, Site);
Tensor reduce_logsumexp(const Operand& input, ReduceOptions options, Site site) {
  const Axis axis = options.axis;
  return logsumexp(input, axis, std::move(options), site);
}

namespace math {
namespace {

Tensor variance_of(const Tensor& x, const MomentOptions& options, const char* name, Site site) {
  const NameScope scope(x.graph(), name, site);
  const Tensor means = reduce_mean(x, options.axis, {.keepdims = true}, site);
  if (is_integer(means.dtype())) {
    throw TypeError(fmt::format("Input must be either real or complex. Received integer type {}.",
                                dtype_name(means.dtype())),
                    {.site = site, .op = "reduce_variance"});
  }
  const Tensor distance = Operand(x, site) - Operand(means, site);
  const Tensor squares = square(distance, {}, site);
  return reduce_mean(squares, options.axis, {.keepdims = options.keepdims}, site);
}

MomentOptions with_axis(MomentOptions options, Axis axis, const char* op, Site site) {
  if (options.axis.value()) {
    throw TypeError("the axis of a reduction is given twice", {.site = site, .op = op});
  }
  options.axis = std::move(axis);
  return options;
}

}  // namespace

Tensor reduce_variance(const Operand& input_tensor, MomentOptions options, Site site) {
  Graph& graph = get_default_graph();
  const NameScope scope(graph, options.name.empty() ? "reduce_variance" : options.name, site);
  const Tensor x = convert_operand(graph, input_tensor, "", std::nullopt);
  return variance_of(x, options, scope.name().c_str(), site);
}

Tensor reduce_std(const Operand& input_tensor, MomentOptions options, Site site) {
  Graph& graph = get_default_graph();
  const NameScope scope(graph, options.name.empty() ? "reduce_std" : options.name, site);
  const Tensor x = convert_operand(graph, input_tensor, "", std::nullopt);
  return sqrt(variance_of(x, options, "reduce_variance", site), {}, site);
}

template <class Unused>
Tensor reduce_variance(const Operand& input_tensor, Axis axis, MomentOptions options, Site site) {
  return reduce_variance(
      input_tensor, with_axis(std::move(options), std::move(axis), "reduce_variance", site), site);
}
template Tensor reduce_variance<void>(const Operand&, Axis, MomentOptions, Site);
template <class Unused>
Tensor reduce_std(const Operand& input_tensor, Axis axis, MomentOptions options, Site site) {
  return reduce_std(input_tensor,
                    with_axis(std::move(options), std::move(axis), "reduce_std", site), site);
}
template Tensor reduce_std<void>(const Operand&, Axis, MomentOptions, Site);

}  // namespace math
}  // namespace towerflow
