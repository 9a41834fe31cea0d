#include "ops/random/random_ops.h"

#include <fmt/format.h>

#include "core/graph/op_builder.h"
#include "ops/array/shape_input.h"
#include "ops/family.h"
#include "ops/random/attributes.h"

namespace towerflow {
namespace {

constexpr const char* kNoDrawGradient = "random numbers do not depend on the inputs";

void float_shape(InferenceContext& context) {
  const DType dtype = context.attrs<DrawAttrs>().dtype;
  if (!is_floating(dtype)) {
    context.fail_type(fmt::format(
        "Value passed to parameter 'dtype' has DataType {} not in list of allowed values: float16, "
        "bfloat16, float32, float64",
        dtype_name(dtype)));
  }
  context.add_output(dtype, shape_from_input(context, 0));
}

void integer_shape(InferenceContext& context) {
  const DType dtype = context.attrs<DrawAttrs>().dtype;
  constexpr const char* kNames[] = {"shape", "minval", "maxval"};
  for (std::size_t i = 1; i < 3; ++i) {
    if (context.dtype(i) != dtype) {
      context.fail_type(fmt::format("{} is {}, but the numbers to draw are {}", kNames[i],
                                    dtype_name(context.dtype(i)), dtype_name(dtype)));
    }
    if (context.shape(i).has_rank() && context.shape(i).rank() != 0) {
      context.fail(fmt::format("{} must be a scalar; got a tensor of shape {}", kNames[i],
                               context.shape(i).text()));
    }
  }
  context.add_output(dtype, shape_from_input(context, 0));
}

/// Returns whether the operand is this integer as a literal: 0, not 0.0 and not a tensor.
bool is_literal(const Operand& operand, std::int64_t value) {
  if (operand.nested() == nullptr) return false;
  const Nested::Value& written = operand.nested()->value();
  if (const auto* integer = std::get_if<std::int64_t>(&written)) return *integer == value;
  const auto* truth = std::get_if<bool>(&written);
  return truth != nullptr && static_cast<std::int64_t>(*truth) == value;
}

/// Adds the inner node that draws: an op `type` called `name`, whose first input is the shape.
Tensor add_draw(Graph& graph, const char* type, const std::string& name, std::vector<Tensor> inputs,
                DType dtype, std::optional<std::int64_t> seed, Site site) {
  const random::Seeds seeds = random::get_seed(graph.seed, seed, graph.next_op_seed);
  const Shape known = constant_value_as_shape(inputs[0]);
  Tensor made = graph
                    .add({.op = type,
                          .name = name,
                          .inputs = std::move(inputs),
                          .attrs = DrawAttrs{seeds, dtype},
                          .site = site})
                    .output(0);
  made.set_shape(known, site);
  return made;
}

/// Converts a shape to a tensor. An empty list, the shape of a scalar, has no dtype by itself.
Tensor shape_tensor(Graph& graph, const Operand& shape) {
  const Nested* nested = shape.nested();
  const auto* items =
      nested == nullptr ? nullptr : std::get_if<std::vector<Nested>>(&nested->value());
  const bool scalar = items != nullptr && items->empty();
  return convert_operand(graph, shape, "shape",
                         scalar ? std::optional(DType::int32) : std::nullopt);
}

void check_uniform(const RandomUniformOptions& options, Site site) {
  switch (options.dtype) {
    case DType::float16:
    case DType::bfloat16:
    case DType::float32:
    case DType::float64:
      return;
    case DType::int32:
    case DType::int64:
      if (options.maxval) return;
      throw ValueError(
          fmt::format("Must specify maxval for integer dtype {}", dtype_name(options.dtype)),
          {.site = site, .op = "RandomUniformInt"});
    default:
      throw ValueError(
          fmt::format("Argument `dtype` got invalid value {}. Accepted dtypes are float16, "
                      "bfloat16, float32, float64, int32, int64.",
                      dtype_name(options.dtype)),
          {.site = site, .op = "RandomUniform"});
  }
}

Tensor normal(const char* type, const char* default_name, const Operand& shape,
              const RandomNormalOptions& options, Site site) {
  OpBuilder sum("AddV2", options.name, default_name, site,
                {&shape, &options.mean, &options.stddev});
  Graph& graph = sum.graph();
  const Tensor sizes = shape_tensor(graph, shape);
  const Tensor mean = convert_operand(graph, options.mean.at(site), "mean", options.dtype);
  const Tensor stddev = convert_operand(graph, options.stddev.at(site), "stddev", options.dtype);
  const Tensor numbers = add_draw(graph, type, type, {sizes}, options.dtype, options.seed, site);
  const Operation scaled =
      graph.add({.op = "Mul", .name = "mul", .inputs = {numbers, stddev}, .site = site});
  return sum.input(scaled.output(0), "x").input(mean, "y").output();
}

/// Draws the integers of random_uniform.
Tensor uniform_integers(const Operand& shape, const RandomUniformOptions& options, Site site) {
  OpBuilder draw("RandomUniformInt", options.name, "random_uniform", site,
                 {&shape, &options.minval, &*options.maxval});
  Graph& graph = draw.graph();
  const Tensor sizes = shape_tensor(graph, shape);
  const Tensor low = convert_operand(graph, options.minval.at(site), "min", options.dtype);
  const Tensor high = convert_operand(graph, options.maxval->at(site), "max", options.dtype);
  return add_draw(graph, "RandomUniformInt", draw.scope(), {sizes, low, high}, options.dtype,
                  options.seed, site);
}

}  // namespace

static void register_draw_ops(OpRegistry& registry) {
  for (const char* op : {"RandomUniform", "RandomStandardNormal", "TruncatedNormal"}) {
    registry.add({.name = op,
                  .inputs = {"shape: T"},
                  .outputs = {"output: dtype"},
                  .attrs = attributes<DrawAttrs>(),
                  .shape = float_shape,
                  .gradient = NoGradient{kNoDrawGradient},
                  .effect = Effect::random});
  }
  registry.add({.name = "RandomUniformInt",
                .inputs = {"shape: T", "minval: Tout", "maxval: Tout"},
                .outputs = {"output: Tout"},
                .attrs = attributes<DrawAttrs>().renamed("dtype", "Tout"),
                .shape = integer_shape,
                .gradient = NoGradient{"the results are integers"},
                .effect = Effect::random});
}

OpFamily draw_family() { return {.ops = register_draw_ops}; }

void set_random_seed(std::optional<std::int64_t> seed) { get_default_graph().seed = seed; }

Tensor random_uniform(const Operand& shape, RandomUniformOptions options, Site site) {
  check_uniform(options, site);
  if (is_integer(options.dtype)) return uniform_integers(shape, options, site);
  const Operand maxval = options.maxval.value_or(Operand(1)).at(site);
  const bool from_zero = is_literal(options.minval, 0);
  const bool to_one = is_literal(maxval, 1);

  OpBuilder sum("AddV2", options.name, "random_uniform", site, {&shape, &options.minval, &maxval});
  Graph& graph = sum.graph();
  const auto draw = [&](const Tensor& sizes) {
    return add_draw(graph, "RandomUniform", "RandomUniform", {sizes}, options.dtype, options.seed,
                    site);
  };
  const Tensor sizes = shape_tensor(graph, shape);
  if (from_zero && to_one) return draw(sizes);
  const Tensor low = convert_operand(graph, options.minval.at(site), "min", options.dtype);
  const Tensor high = convert_operand(graph, maxval, "max", options.dtype);
  const Tensor unit = draw(sizes);
  if (from_zero) {
    return graph.add({.op = "Mul", .name = "Mul", .inputs = {unit, high}, .site = site}).output(0);
  }
  const Operation width =
      graph.add({.op = "Sub", .name = "sub", .inputs = {high, low}, .site = site});
  const Operation scaled =
      graph.add({.op = "Mul", .name = "mul", .inputs = {unit, width.output(0)}, .site = site});
  return sum.input(scaled.output(0), "x").input(low, "y").output();
}

Tensor random_normal(const Operand& shape, RandomNormalOptions options, Site site) {
  return normal("RandomStandardNormal", "random_normal", shape, options, site);
}

Tensor truncated_normal(const Operand& shape, RandomNormalOptions options, Site site) {
  return normal("TruncatedNormal", "truncated_normal", shape, options, site);
}

}  // namespace towerflow
