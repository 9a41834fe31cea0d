#include "ops/nn/statistics.h"

#include <algorithm>
#include <set>

#include "core/graph/graph.h"
#include "core/graph/op_builder.h"
#include "core/graph/scopes.h"
#include "ops/array/cast.h"
#include "ops/array/constant.h"
#include "ops/array/fill.h"
#include "ops/array/gather.h"
#include "ops/array/indexed_slices.h"
#include "ops/array/rank_size.h"
#include "ops/array/shape_of.h"
#include "ops/array/view.h"
#include "ops/math/binary.h"
#include "ops/math/reduce.h"
#include "ops/math/unary.h"

namespace towerflow::nn {
namespace {

/// Returns the axes in the order in which Python iterates over a set of small integers: those from
/// 0 on ascending, then the negative ones as they fall into its table.
std::vector<int> axes_of_set(const std::vector<int>& axes) {
  const std::set<int> found(axes.begin(), axes.end());
  std::vector<int> ordered;
  for (const int axis : found) {
    if (axis >= 0) ordered.push_back(axis);
  }
  for (auto at = found.begin(); at != found.end() && *at < 0; ++at) ordered.push_back(*at);
  return ordered;
}

/// Returns how many elements of x a sum over `axes` adds, if the graph knows it.
std::optional<double> known_count(const Shape& x, const std::vector<int>& axes, Site site) {
  if (!x.has_rank()) return std::nullopt;
  double count = 1;
  for (const int axis : axes) {
    const int at = axis < 0 ? axis + static_cast<int>(x.rank()) : axis;
    if (at < 0 || at >= static_cast<int>(x.rank())) {
      throw ValueError("Axis " + std::to_string(axis) + " is out of range for shape " + x.text(),
                       {.site = site});
    }
    const Dim size = x[static_cast<std::size_t>(at)];
    if (!size.known()) return std::nullopt;
    count *= static_cast<double>(size.size());
  }
  return count;
}

/// Makes nodes that count the elements during the run.
Tensor count_node(const Tensor& x, const std::vector<int>& axes, Site site) {
  const Tensor dimensions = rank(x, {}, site);
  std::vector<Nested> positive;
  for (const int axis : axes) {
    if (axis < 0) {
      positive.emplace_back(add(axis, dimensions, {.name = "add"}, site));
    } else {
      positive.emplace_back(axis);
    }
  }
  const Tensor sizes = cast(shape(x, {}, site), x.dtype(), {}, site);
  const Tensor chosen = gather(sizes, Operand(Nested(positive), site), {}, site);
  return reduce_prod(chosen, {.name = "count"}, site);
}

}  // namespace

Moments weighted_moments(const Operand& x, const std::vector<int>& axes,
                         const Operand& frequency_weights, MomentsOptions options, Site site) {
  const bool keep = keeps_dims(options.keepdims, options.keep_dims, site);
  const NameScope scope(graph_of(x, frequency_weights),
                        options.name.empty() ? "weighted_moments" : options.name, site);
  const Tensor values = convert_to_tensor(x, {.name = "x"}, site);
  Tensor weights = convert_to_tensor(frequency_weights, {.name = "frequency_weights"}, site);
  if (weights.dtype() != values.dtype()) weights = cast(weights, values.dtype(), {}, site);
  const Tensor weighted = multiply(weights, values, {.name = "mul"}, site);
  const Tensor sum =
      reduce_sum(weighted, axes, {.keepdims = true, .name = "weighted_input_sum"}, site);
  const Tensor zeros = zeros_like(values, {}, site);
  const Tensor all_weights = Operand(weights, site) + Operand(zeros, site);
  const Tensor total =
      reduce_sum(all_weights, axes, {.keepdims = true, .name = "sum_of_weights"}, site);
  Moments found;
  found.mean = div_no_nan(sum, total, {}, site);
  const Tensor distance = squared_difference(values, found.mean, {}, site);
  const Tensor weighted_distance = multiply(weights, distance, {.name = "mul"}, site);
  const Tensor spread =
      reduce_sum(weighted_distance, axes, {.keepdims = true, .name = "weighted_distsq"}, site);
  found.variance = div_no_nan(spread, total, {}, site);
  if (!keep) {
    found.mean = squeeze(found.mean, {.axis = axes}, site);
    found.variance = squeeze(found.variance, {.axis = axes}, site);
  }
  return found;
}

SufficientStatistics sufficient_statistics(const Operand& x, const std::vector<int>& axes,
                                           SufficientStatisticsOptions options, Site site) {
  const std::vector<int> distinct = axes_of_set(axes);
  const bool keep = keeps_dims(options.keepdims, options.keep_dims, site);
  Graph& graph = options.shift ? graph_of(x, *options.shift) : graph_of(x);
  const NameScope scope(graph, options.name.empty() ? "sufficient_statistics" : options.name, site);
  const Tensor values = convert_to_tensor(x, {.name = "x"}, site);
  const std::optional<double> known = known_count(values.shape(), distinct, site);
  SufficientStatistics found;
  found.counts = known ? constant(*known, {.dtype = values.dtype()}, site)
                       : count_node(values, distinct, site);
  Tensor first = values, second;
  if (options.shift) {
    found.shift = convert_to_tensor(*options.shift, {.name = "shift"}, site);
    first = subtract(values, *found.shift, {}, site);
    second = squared_difference(values, *found.shift, {}, site);
  } else {
    second = square(values, {}, site);
  }
  found.mean_ss = reduce_sum(first, distinct, {.keepdims = keep, .name = "mean_ss"}, site);
  found.variance_ss = reduce_sum(second, distinct, {.keepdims = keep, .name = "var_ss"}, site);
  return found;
}

Moments normalize_moments(const Operand& counts, const Operand& mean_ss, const Operand& variance_ss,
                          const std::optional<Operand>& shift, NormalizeMomentsOptions options,
                          Site site) {
  const NameScope scope(graph_of(counts, mean_ss),
                        options.name.empty() ? "normalize" : options.name, site);
  const Tensor divisor = reciprocal(counts, {.name = "divisor"}, site);
  Moments found;
  const Tensor shifted =
      multiply(mean_ss, divisor, {.name = shift ? "shifted_mean" : "mean"}, site);
  found.mean = shift ? add(shifted, *shift, {.name = "mean"}, site) : shifted;
  const Tensor mean_square = multiply(variance_ss, divisor, {}, site);
  const Tensor squared_mean = square(shifted, {}, site);
  found.variance = subtract(mean_square, squared_mean, {.name = "variance"}, site);
  return found;
}

}  // namespace towerflow::nn
