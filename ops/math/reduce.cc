#include "ops/math/reduce.h"

#include <fmt/format.h>

#include <numeric>

#include "core/graph/constant.h"
#include "core/graph/op_builder.h"
#include "ops/array/rank_size.h"
#include "ops/array/shape_input.h"
#include "ops/family.h"
#include "ops/math/range.h"
#include "ops/math/reduce_ops.h"

namespace towerflow {
namespace {

void reduce_shape(InferenceContext& context, bool of_bools) {
  const DType dtype = context.dtype(0);
  const bool number = dtype != DType::bool_ && dispatch_dtype(dtype, []<class T>() {});
  if (of_bools ? dtype != DType::bool_ : !number) {
    context.fail_type(
        fmt::format("Value passed to parameter 'input' has DataType {}, which the "
                    "reduction does not take",
                    dtype_name(dtype)));
  }
  if (context.shape(1).has_rank() && context.shape(1).rank() > 1) {
    context.fail(fmt::format("Shape must be at most rank 1 but is rank {}: axes of a reduction",
                             context.shape(1).rank()));
  }
  const bool keep = context.attrs<ReduceAttrs>().keep_dims;
  const Shape& input = context.shape(0);
  if (!input.has_rank()) return context.add_output(dtype, Shape::unknown());
  const Array* axes = context.constant(1);
  if (axes == nullptr) {
    return context.add_output(dtype, keep ? Shape::of_rank(input.rank()) : Shape::unknown());
  }
  std::vector<bool> reduced(input.rank(), false);
  for (const std::int64_t axis : integers_of(*axes)) {
    const auto at = normalized_axis(axis, input.rank());
    if (!at) {
      context.fail(fmt::format("Invalid reduction dimension {} for input with {} dimensions.", axis,
                               input.rank()));
    }
    reduced[*at] = true;
  }
  std::vector<Dim> dims;
  for (std::size_t i = 0; i < input.rank(); ++i) {
    if (!reduced[i])
      dims.push_back(input[i]);
    else if (keep)
      dims.push_back(Dim(1));
  }
  context.add_output(dtype, Shape(std::move(dims)));
}

/// Returns the axes of a reduction over all dimensions: a constant if the rank is known, else
/// computed. They are added in the caller's scope, not in the reduction's.
Operand all_axes(const Operand& input, Site site) {
  const Shape shape = static_shape(input);
  // The (empty) axes of a scalar are computed too.
  if (shape.has_rank() && shape.rank() > 0) {
    std::vector<std::int32_t> axes(shape.rank());
    std::iota(axes.begin(), axes.end(), 0);
    return make_constant(graph_of(input), Array::of(Shape{axes.size()}, axes), "Const", site);
  }
  return range(0, rank(input, {}, site), 1, {}, site);
}

/// Returns the axes given under either name. Throws ValueError if both names are used.
const Axis& axis_of(const Axis& axis, const ReduceOptions& options, const char* op, Site site) {
  if (!options.reduction_indices.value()) return axis;
  if (!axis.value()) return options.reduction_indices;
  throw ValueError("Cannot specify both 'reduction_indices' and 'axis'.", {.site = site, .op = op});
}

Tensor reduce(const char* op, const Operand& input, const Axis& given, const ReduceOptions& options,
              Site site) {
  const Axis& axis = axis_of(given, options, op, site);
  const bool keep = keeps_dims(options.keepdims, options.keep_dims, site);
  const Operand axes = axis.value() ? *axis.value() : all_axes(input, site);
  OpBuilder builder(op, options.name, site, {&input, &axes});
  const bool of_bools = op == std::string_view("All") || op == std::string_view("Any");
  if (of_bools)
    builder.input(input, "input", DType::bool_);
  else
    builder.input(input, "input");
  const DType dtype = builder.tensors()[0].dtype();
  if (!of_bools && (dtype == DType::bool_ || dtype == DType::string)) {
    // Checked before the axes become a constant.
    throw TypeError(fmt::format("Value passed to parameter 'input' has DataType {}, which the op "
                                "does not take",
                                dtype_name(dtype)),
                    {.site = site, .op = op});
  }
  Tensor result = builder.index_input(axes, "reduction_indices").attrs(ReduceAttrs{keep}).output();
  if (!axis.value() && !keep) result.set_shape(Shape{}, site);
  return result;
}

Tensor reduce_positional(const char* op, const Operand& input, const Axis& axis,
                         const ReduceOptions& options, Site site) {
  if (options.axis.value()) {
    throw TypeError("the axis of a reduction is given twice", {.site = site, .op = op});
  }
  return reduce(op, input, axis, options, site);
}

}  // namespace

bool keeps_dims(std::optional<bool> keepdims, std::optional<bool> keep_dims, Site site) {
  if (keepdims && keep_dims) {
    throw ValueError("Cannot specify both 'keep_dims' and 'keepdims'.", {.site = site});
  }
  return keepdims.value_or(keep_dims.value_or(false));
}

const std::vector<ReduceRow>& reduce_rows() {
  namespace g = reduce_gradients;
  static const NoGradient logic{"bools carry no gradient", false};
  static const std::vector<ReduceRow> rows = {
      {"Sum", Reduction::sum, g::sum},     {"Mean", Reduction::mean, g::mean},
      {"Prod", Reduction::prod, g::prod},  {"Max", Reduction::max, g::extreme},
      {"Min", Reduction::min, g::extreme}, {"All", Reduction::all, logic},
      {"Any", Reduction::any, logic},
  };
  return rows;
}

static void register_reduce_ops(OpRegistry& registry) {
  for (const ReduceRow& row : reduce_rows()) {
    const bool of_bools = row.reduction == Reduction::all || row.reduction == Reduction::any;
    const char* type = of_bools ? "bool" : "T";
    registry.add({.name = row.op,
                  .inputs = {fmt::format("input: {}", type), "reduction_indices: Index(Tidx)"},
                  .outputs = {fmt::format("output: {}", type)},
                  .attrs = attributes<ReduceAttrs>(),
                  .shape = [of_bools](InferenceContext& c) { reduce_shape(c, of_bools); },
                  .gradient = row.gradient,
                  .static_inputs = {1}});
  }
  register_reduced_shape(registry);
  register_product_of_others(registry);
}

static void register_reduce_kernels(KernelTable& table) {
  for (const ReduceRow& row : reduce_rows()) {
    const auto prepare = [reduction = row.reduction](const KernelRequest& request) {
      return reduction_kernel(reduction, request);
    };
    if (row.reduction == Reduction::sum || row.reduction == Reduction::mean) {
      table.add({.op = row.op,
                 .label = "simd",
                 .accepts =
                     [](const KernelRequest& request) {
                       return request.inputs[0].dtype == DType::float32;
                     },
                 .prepare = prepare});
    }
    table.add({.op = row.op, .label = "reference", .accepts = {}, .prepare = prepare});
  }
  register_reduced_shape_kernels(table);
  register_product_of_others_kernels(table);
}

OpFamily reduce_family() {
  return {.ops = register_reduce_ops, .kernels = register_reduce_kernels};
}

#define TOWERFLOW_REDUCE(function, op)                                                 \
  template <class Unused>                                                              \
  Tensor function(const Operand& input, Axis axis, ReduceOptions options, Site site) { \
    return reduce_positional(op, input, axis, options, site);                          \
  }                                                                                    \
  template Tensor function<void>(const Operand&, Axis, ReduceOptions, Site);           \
  Tensor function(const Operand& input, ReduceOptions options, Site site) {            \
    return reduce(op, input, options.axis, options, site);                             \
  }
TOWERFLOW_REDUCE(reduce_sum, "Sum")
TOWERFLOW_REDUCE(reduce_mean, "Mean")
TOWERFLOW_REDUCE(reduce_prod, "Prod")
TOWERFLOW_REDUCE(reduce_max, "Max")
TOWERFLOW_REDUCE(reduce_min, "Min")
TOWERFLOW_REDUCE(reduce_all, "All")
TOWERFLOW_REDUCE(reduce_any, "Any")
#undef TOWERFLOW_REDUCE

}  // namespace towerflow
