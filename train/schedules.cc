#include "train/schedules.h"

#include <fmt/format.h>

#include <numbers>
#include <tuple>

#include "core/graph/op_builder.h"
#include "core/graph/scopes.h"
#include "ops/array/cast.h"
#include "ops/array/constant.h"
#include "ops/array/select.h"
#include "ops/control/case.h"
#include "ops/math/binary.h"
#include "ops/math/unary.h"
#include "ops/random/random_ops.h"

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

/// Returns (1 + cos(pi * 2 * num_periods * fraction)) / 2.
Tensor periodic_cosine(const Tensor& num_periods, const Tensor& fraction, Site site) {
  const Tensor twice = Operand(2.0, site) * num_periods;
  const Tensor periods = Operand(twice, site) * fraction;
  const Tensor angle = Operand(constant(std::numbers::pi, {}, site), site) * periods;
  const Tensor raised = Operand(1.0, site) + cos(angle, {}, site);
  return Operand(0.5, site) * raised;
}

Tensor power_operator(const Tensor& x, const Tensor& y, Site site) {
  return pow(x, y, {.name = "pow"}, site);
}

/// The period that a step is in, counted from 0, and how much of it has passed, from 0 to 1.
using Period = std::tuple<Tensor, Tensor>;

/// Returns the period for a factor of 1.
Period period_of_equal_lengths(const Tensor& fraction, Site site) {
  const Tensor number = floor(fraction, {}, site);
  return {number, Operand(fraction, site) - number};
}

/// Returns the period for another factor: the periods before number i take a sum of i powers.
Period period_of_growing_lengths(const Tensor& fraction, const Tensor& factor, Site site) {
  const Tensor rest = Operand(1.0, site) - factor;
  const Tensor scaled = Operand(fraction, site) * rest;
  const Tensor reached = log(Operand(1.0, site) - scaled, {}, site);
  const Tensor number = floor(Operand(reached, site) / log(factor, {}, site), {}, site);
  const Tensor length = power_operator(factor, number, site);
  const Tensor grown = Operand(1.0, site) - length;
  const Tensor ratio = Operand(1.0, site) - factor;
  const Tensor before = Operand(grown, site) / ratio;
  const Tensor left = Operand(fraction, site) - before;
  const Tensor same_length = power_operator(factor, number, site);
  return {number, Operand(left, site) / same_length};
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

Tensor cosine_decay_restarts(const Operand& learning_rate, const Operand& global_step,
                             const Operand& first_decay_steps, CosineDecayRestartsOptions options,
                             Site site) {
  Graph& graph = graph_of(learning_rate, global_step);
  const NameScope scope(graph, name_or_default(options.name, "SGDRDecay"), site);
  const Tensor initial = convert_learning_rate(graph, learning_rate);
  const DType dtype = initial.dtype();
  const Tensor first_steps = cast(first_decay_steps, dtype, {}, site);
  const Tensor alpha = cast(options.alpha, dtype, {}, site);
  const Tensor growth = cast(options.t_mul, dtype, {}, site);
  const Tensor decay = cast(options.m_mul, dtype, {}, site);
  const Tensor now = cast(global_step, dtype, {}, site);
  const Tensor fraction = Operand(now, site) / first_steps;
  const Tensor equal_lengths = equal(growth, 1.0, {}, site);
  const auto [number, passed] = cond(
      equal_lengths, [&] { return period_of_equal_lengths(fraction, site); },
      [&] { return period_of_growing_lengths(fraction, growth, site); }, {}, site);
  const Tensor height = power_operator(decay, number, site);
  const Tensor half = Operand(0.5, site) * height;
  const Tensor angle = Operand(constant(std::numbers::pi, {}, site), site) * passed;
  const Tensor raised = Operand(1.0, site) + cos(angle, {}, site);
  const Tensor wave = Operand(half, site) * raised;
  const Tensor range = Operand(1, site) - alpha;
  const Tensor shrunk = Operand(range, site) * wave;
  const Tensor decayed_by = Operand(shrunk, site) + alpha;
  return multiply(initial, decayed_by, {.name = scope.name()}, site);
}

Tensor linear_cosine_decay(const Operand& learning_rate, const Operand& global_step,
                           const Operand& decay_steps, LinearCosineDecayOptions options,
                           Site site) {
  Graph& graph = graph_of(learning_rate, global_step);
  const NameScope scope(graph, name_or_default(options.name, "LinearCosineDecay"), site);
  const Tensor initial = convert_learning_rate(graph, learning_rate);
  const DType dtype = initial.dtype();
  const Tensor steps = cast(decay_steps, dtype, {}, site);
  const Tensor num_periods = cast(options.num_periods, dtype, {}, site);
  const Tensor alpha = cast(options.alpha, dtype, {}, site);
  const Tensor beta = cast(options.beta, dtype, {}, site);
  const Tensor now = minimum(cast(global_step, dtype, {}, site), steps, {}, site);
  const Tensor left = Operand(steps, site) - now;
  const Tensor linear = Operand(left, site) / steps;
  const Tensor fraction = Operand(now, site) / steps;
  const Tensor wave = periodic_cosine(num_periods, fraction, site);
  const Tensor raised = Operand(alpha, site) + linear;
  const Tensor product = Operand(raised, site) * wave;
  const Tensor decayed_by = Operand(product, site) + beta;
  return multiply(initial, decayed_by, {.name = scope.name()}, site);
}

Tensor noisy_linear_cosine_decay(const Operand& learning_rate, const Operand& global_step,
                                 const Operand& decay_steps, NoisyLinearCosineDecayOptions options,
                                 Site site) {
  Graph& graph = graph_of(learning_rate, global_step);
  const NameScope scope(graph, name_or_default(options.name, "NoisyLinearCosineDecay"), site);
  const Tensor initial = convert_learning_rate(graph, learning_rate);
  const DType dtype = initial.dtype();
  const Tensor steps = cast(decay_steps, dtype, {}, site);
  const Tensor initial_variance = cast(options.initial_variance, dtype, {}, site);
  const Tensor variance_decay = cast(options.variance_decay, dtype, {}, site);
  const Tensor num_periods = cast(options.num_periods, dtype, {}, site);
  const Tensor alpha = cast(options.alpha, dtype, {}, site);
  const Tensor beta = cast(options.beta, dtype, {}, site);
  const Tensor now = minimum(cast(global_step, dtype, {}, site), steps, {}, site);
  const Tensor left = Operand(steps, site) - now;
  const Tensor linear = Operand(left, site) / steps;
  const Tensor counted = Operand(1.0, site) + now;
  const Tensor variance = Operand(initial_variance, site) / pow(counted, variance_decay, {}, site);
  const Tensor deviation = sqrt(variance, {}, site);
  const Tensor noise = random_normal(linear.shape(), {.stddev = deviation}, site);
  const Tensor noisy = Operand(linear, site) + noise;
  const Tensor fraction = Operand(now, site) / steps;
  const Tensor wave = periodic_cosine(num_periods, fraction, site);
  const Tensor raised = Operand(alpha, site) + noisy;
  const Tensor product = Operand(raised, site) * wave;
  const Tensor decayed_by = Operand(product, site) + beta;
  return multiply(initial, decayed_by, {.name = scope.name()}, site);
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
  const Tensor now = convert_operand(graph, x, "", std::nullopt);
  const auto pick = [&](std::size_t i) { return [&, i] { return picks[i]; }; };
  CasePairs<Tensor> pairs;
  pairs.emplace_back(less_equal(now, limits.front(), {}, site), pick(0));
  pairs.emplace_back(greater(now, limits.back(), {}, site), pick(limits.size()));
  for (std::size_t i = 1; i < limits.size(); ++i) {
    const Tensor above = greater(now, limits[i - 1], {}, site);
    const Tensor below = less_equal(now, limits[i], {}, site);
    pairs.emplace_back(logical_and(above, below, {.name = "and"}, site), pick(i));
  }
  return case_(pairs, pick(0), {.exclusive = true}, site);
}

}  // namespace towerflow::train
