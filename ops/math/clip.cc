#include "ops/math/clip.h"

#include <fmt/format.h>

#include "core/graph/op_builder.h"
#include "core/graph/scopes.h"
#include "ops/array/cast.h"
#include "ops/array/constant.h"
#include "ops/array/fill.h"
#include "ops/array/select.h"
#include "ops/array/stack.h"
#include "ops/array/view.h"
#include "ops/math/binary.h"
#include "ops/math/l2_loss.h"
#include "ops/math/unary.h"

namespace towerflow {
namespace {

/// Returns the graph of the first gradient that is present, or the default graph if none is.
Graph& graph_of_gradients(const std::vector<OptionalGradient>& list) {
  for (const OptionalGradient& gradient : list) {
    if (gradient) return gradient->representative().graph();
  }
  return get_default_graph();
}

void check_same_shape_kept(const Tensor& values, const Tensor& clipped, const char* op, Site site) {
  if (values.shape().compatible(clipped.shape())) return;
  throw ValueError(fmt::format("Dimensions of {} and {} are not compatible", values.shape().text(),
                               clipped.shape().text()),
                   {.site = site, .op = op, .hint = "a bound may not be larger than the tensor"});
}

bool is_negative_literal(const Operand& operand) {
  if (operand.nested() == nullptr) return false;
  const auto* real = std::get_if<double>(&operand.nested()->value());
  const auto* integer = std::get_if<std::int64_t>(&operand.nested()->value());
  return (real != nullptr && *real < 0) || (integer != nullptr && *integer < 0);
}

}  // namespace

Tensor clip_by_value(const Operand& t, const Operand& clip_value_min, const Operand& clip_value_max,
                     ClipByValueOptions options, Site site) {
  Graph& graph = graph_of(t);
  const NameScope scope(graph, options.name.empty() ? "clip_by_value" : options.name, site);
  const Tensor values = convert_operand(graph, t, "t", std::nullopt);
  const Tensor below = minimum(values, clip_value_max, {}, site);
  check_same_shape_kept(values, below, "clip_by_value", site);
  const Tensor clipped = maximum(below, clip_value_min, {.name = scope.name()}, site);
  check_same_shape_kept(values, clipped, "clip_by_value", site);
  return clipped;
}

Tensor clip_by_norm(const Operand& t, const Operand& clip_norm, ClipByNormOptions options,
                    Site site) {
  Graph& graph = graph_of(t);
  const NameScope scope(graph, options.name.empty() ? "clip_by_norm" : options.name, site);
  const Tensor values = convert_operand(graph, t, "t", std::nullopt);
  Operand limit = is_negative_literal(clip_norm) ? Operand(0, site) : clip_norm;
  if (clip_norm.tensor() != nullptr) {
    limit = Operand(cast(maximum(clip_norm, 0, {}, site), values.dtype(), {}, site), site);
  }
  const Operand kept(values, site);
  const Tensor squares = kept * kept;
  const Tensor sum = reduce_sum(squares, options.axes, {.keepdims = true}, site);
  // The derivative of sqrt is infinite at zero, so it is taken of a safe number there.
  const Tensor positive = Operand(sum, site) > Operand(0, site);
  const Tensor safe = where(positive, sum, ones_like(sum, {}, site), {}, site);
  const Tensor norm = where(positive, sqrt(safe, {}, site), sum, {}, site);
  const Tensor scaled = kept * limit;
  check_same_shape_kept(values, scaled, "clip_by_norm", site);
  const Tensor longest = maximum(norm, limit, {}, site);
  return identity(Operand(scaled, site) / longest, {.name = scope.name()}, site);
}

Tensor global_norm(const GradientList& t_list, GlobalNormOptions options, Site site) {
  Graph& graph = graph_of_gradients(t_list);
  const NameScope scope(graph, options.name.empty() ? "global_norm" : options.name, site);
  std::vector<Tensor> halves;
  for (const OptionalGradient& gradient : t_list) {
    if (!gradient) continue;
    const Tensor values = gradient->representative();
    const ColocationScope beside(graph, &values.node(), false);
    halves.push_back(nn::l2_loss(values, {}, site));
  }
  const Tensor all = halves.empty()
                         ? constant(Array(DType::float32, Shape{0}), {.name = "stack"}, site)
                         : stack(halves, {}, site);
  const Tensor half = reduce_sum(all, {}, site);
  const Tensor two = constant(2.0, {.dtype = half.dtype()}, site);
  return sqrt(Operand(half, site) * two, {.name = "global_norm"}, site);
}

ClippedByGlobalNorm clip_by_global_norm(const GradientList& t_list, const Operand& clip_norm,
                                        ClipByGlobalNormOptions options, Site site) {
  ClippedByGlobalNorm result;
  result.global_norm =
      options.use_norm ? *options.use_norm : global_norm(t_list, {.name = options.name}, site);
  Graph& graph = result.global_norm.graph();
  const NameScope scope(graph, options.name.empty() ? "clip_by_global_norm" : options.name, site);
  const Operand norm(result.global_norm, site);
  const Tensor inverse = Operand(1.0, site) / norm;
  const Tensor one = constant(1.0, {.dtype = result.global_norm.dtype()}, site);
  const Tensor whole = Operand(one, site) / clip_norm;
  const Tensor finite = clip_norm * minimum(inverse, whole, {}, site);
  // Infinity or NaN minus itself is NaN: a norm that is not finite makes every result NaN.
  const Tensor broken = norm - norm;
  const Tensor scale = Operand(finite, site) + broken;
  for (std::size_t i = 0; i < t_list.size(); ++i) {
    const OptionalGradient& gradient = t_list[i];
    if (!gradient) {
      result.list_clipped.push_back(gradient);
      continue;
    }
    const Tensor values = gradient->representative();
    const ColocationScope beside(graph, &values.node(), false);
    const Tensor scaled = Operand(values, site) * cast(scale, values.dtype(), {}, site);
    const Tensor clipped = identity(scaled, {.name = fmt::format("{}_{}", scope.name(), i)}, site);
    result.list_clipped.push_back(gradient->with_values(clipped));
  }
  return result;
}

}  // namespace towerflow
