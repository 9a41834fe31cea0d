#include "train/schedules.h"

#include <fmt/format.h>

#include <numbers>

#include "core/graph/op_builder.h"
#include "core/graph/scopes.h"
#include "ops/array/cast.h"
#include "ops/array/constant.h"
#include "ops/array/select.h"
#include "ops/array/view.h"
#include "ops/math/binary.h"
#include "ops/math/unary.h"

namespace towerflow::train {
namespace {

Tensor convert_learning_rate(Graph& graph, const Operand& learning_rate) {
  return convert_operand(graph, learning_rate, "initial_learning_rate", std::nullopt);
}

std::string name_or_default(const std::string& name, const char* otherwise) {
  return name.empty() ? otherwise : name;
}

/// The operands of the schedules with a decay rate.
struct Decay {
  Tensor initial;
  Tensor rate;
  Tensor periods;  ///< number of decay_steps that have passed
};

Decay decay_of(Graph& graph, const Operand& learning_rate, const Operand& global_step,
               const Operand& decay_steps, const Operand& decay_rate, bool staircase, Site site) {
  const Tensor initial = convert_learning_rate(graph, learning_rate);
  const Tensor steps = cast(decay_steps, initial.dtype(), {}, site);
  const Tensor rate = cast(decay_rate, initial.dtype(), {}, site);
  const Tensor now = cast(global_step, initial.dtype(), {}, site);
  const Tensor periods = Operand(now, site) / steps;
  return {initial, rate, staircase ? floor(periods, {}, site) : periods};
}

std::vector<Tensor> as_tensors(Graph& graph, const OperandList& list) {
  std::vector<Tensor> tensors;
  for (const Operand& item : list.items()) {
    tensors.push_back(convert_operand(graph, item, "", std::nullopt));
  }
  return tensors;
}

/// Returns `boundary` in the dtype of `x`. Throws ValueError unless it has that dtype or is an
/// int32 to cast to int64.
Tensor cast_boundary(const Tensor& boundary, const Tensor& x, Site site) {
  if (boundary.dtype() == x.dtype()) return boundary;
  if (boundary.dtype() == DType::int32 && x.dtype() == DType::int64) {
    return cast(boundary, x.dtype(), {}, site);
  }
  throw ValueError(fmt::format("Boundaries ({}) must have the same dtype as x ({})",
                               dtype_name(boundary.dtype()), dtype_name(x.dtype())),
                   {.site = site});
}

void require_one_dtype(const std::vector<Tensor>& values, Site site) {
  for (const Tensor& value : values) {
    if (value.dtype() == values[0].dtype()) continue;
    throw ValueError(fmt::format("Values must have elements all with the same dtype ({} vs {})",
                                 dtype_name(values[0].dtype()), dtype_name(value.dtype())),
                     {.site = site});
  }
}

}  // namespace

Tensor exponential_decay(const Operand& learning_rate, const Operand& global_step,
                         const Operand& decay_steps, const Operand& decay_rate,
                         DecayOptions options, Site site) {
  Graph& graph = graph_of(learning_rate, global_step);
  const NameScope scope(graph, name_or_default(options.name, "ExponentialDecay"), site);
  const auto [initial, rate, periods] =
      decay_of(graph, learning_rate, global_step, decay_steps, decay_rate, options.staircase, site);
  const Tensor factor = pow(rate, periods, {}, site);
  return multiply(initial, factor, {.name = scope.name()}, site);
}

Tensor natural_exp_decay(const Operand& learning_rate, const Operand& global_step,
                         const Operand& decay_steps, const Operand& decay_rate,
                         DecayOptions options, Site site) {
  const Tensor rate = exp(negative(decay_rate, {}, site), {}, site);
  return exponential_decay(learning_rate, global_step, decay_steps, rate, std::move(options), site);
}

Tensor inverse_time_decay(const Operand& learning_rate, const Operand& global_step,
                          const Operand& decay_steps, const Operand& decay_rate,
                          DecayOptions options, Site site) {
  Graph& graph = graph_of(learning_rate, global_step);
  const NameScope scope(graph, name_or_default(options.name, "InverseTimeDecay"), site);
  const auto [initial, rate, periods] =
      decay_of(graph, learning_rate, global_step, decay_steps, decay_rate, options.staircase, site);
  const Tensor one = cast(constant(1, {}, site), initial.dtype(), {}, site);
  const Tensor product = multiply(rate, periods, {}, site);
  const Tensor divisor = add(one, product, {}, site);
  return divide(initial, divisor, {.name = scope.name()}, site);
}

Tensor polynomial_decay(const Operand& learning_rate, const Operand& global_step,
                        const Operand& decay_steps, PolynomialDecayOptions options, Site site) {
  Graph& graph = graph_of(learning_rate, global_step);
  const NameScope scope(graph, name_or_default(options.name, "PolynomialDecay"), site);
  const Tensor initial = convert_learning_rate(graph, learning_rate);
  const Tensor end = cast(options.end_learning_rate, initial.dtype(), {}, site);
  const Tensor power = cast(options.power, initial.dtype(), {}, site);
  Tensor now = cast(global_step, initial.dtype(), {}, site);
  Tensor steps = cast(decay_steps, initial.dtype(), {}, site);
  if (options.cycle) {
    // Step 0 is in the first period, although ceil gives 0.
    const Tensor first = equal(now, 0, {}, site);
    const Tensor periods = ceil(Operand(now, site) / decay_steps, {}, site);
    steps = multiply(steps, where_v2(first, 1.0, periods, {}, site), {}, site);
  } else {
    now = minimum(now, steps, {}, site);
  }
  const Tensor part = divide(now, steps, {}, site);
  const Tensor range = Operand(initial, site) - end;
  const Tensor left = pow(Operand(1, site) - part, power, {}, site);
  return add(multiply(range, left, {}, site), end, {.name = scope.name()}, site);
}

Tensor cosine_decay(const Operand& learning_rate, const Operand& global_step,
                    const Operand& decay_steps, CosineDecayOptions options, Site site) {
  Graph& graph = graph_of(learning_rate, global_step);
  const NameScope scope(graph, name_or_default(options.name, "CosineDecay"), site);
  const Tensor initial = convert_learning_rate(graph, learning_rate);
  const Tensor steps = cast(decay_steps, initial.dtype(), {}, site);
  Tensor now = cast(global_step, initial.dtype(), {}, site);
  now = minimum(now, steps, {}, site);
  const Tensor part = Operand(now, site) / steps;
  const Tensor angle = Operand(constant(std::numbers::pi, {}, site), site) * part;
  const Tensor raised = Operand(1.0, site) + cos(angle, {}, site);
  const Tensor wave = Operand(0.5, site) * raised;
  const Tensor shrunk = Operand(1.0 - options.alpha, site) * wave;
  return multiply(initial, Operand(shrunk, site) + options.alpha, {}, site);
}

Tensor piecewise_constant(const Operand& x, const OperandList& boundaries,
                          const OperandList& values, PiecewiseConstantOptions options, Site site) {
  if (boundaries.size() == 0 || boundaries.size() + 1 != values.size()) {
    throw ValueError(
        fmt::format("The length of boundaries should be 1 less than the length of values, got {} "
                    "boundaries and {} values",
                    boundaries.size(), values.size()),
        {.site = site});
  }
  const Tensor* any = x.any_tensor() != nullptr ? x.any_tensor() : values.any_tensor();
  Graph& graph = any != nullptr ? any->graph() : get_default_graph();
  std::vector<Tensor> limits = as_tensors(graph, boundaries);
  const std::vector<Tensor> picks = as_tensors(graph, values);
  const Tensor at = convert_operand(graph, x, "", std::nullopt);
  for (Tensor& limit : limits) limit = cast_boundary(limit, at, site);
  require_one_dtype(picks, site);
  const NameScope scope(graph, name_or_default(options.name, "PiecewiseConstant"), site);
  Tensor picked = picks.back();
  for (std::size_t i = limits.size(); i-- > 0;) {
    picked = where(less_equal(at, limits[i], {}, site), picks[i], picked, {}, site);
  }
  return identity(picked, {.name = scope.name()}, site);
}

}  // namespace towerflow::train
