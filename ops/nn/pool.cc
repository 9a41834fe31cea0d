#include "ops/nn/pool.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/graph/op_builder.h"
#include "ops/array/indexed_slices.h"
#include "ops/array/shape_of.h"
#include "ops/family.h"
#include "ops/nn/pool_attrs.h"

namespace towerflow::nn {
namespace {

const PoolAttrs& common_attrs(const PoolAttrs& attrs) { return attrs; }
const PoolAttrs& common_attrs(const MaxPoolAttrs& attrs) { return attrs.pool; }
ParsedPadding padding_of(const PoolAttrs& attrs) { return {attrs.padding}; }
ParsedPadding padding_of(const MaxPoolAttrs& attrs) {
  return {attrs.pool.padding, attrs.explicit_paddings};
}

/// `Attrs` are those of the op: PoolAttrs or MaxPoolAttrs.
template <class Attrs>
Shape pooled_shape(const InferenceContext& context, const Shape& images) {
  const PoolAttrs& attrs = common_attrs(context.attrs<Attrs>());
  const ParsedPadding padding = padding_of(context.attrs<Attrs>());
  const ImageAxes axes = image_axes(attrs.format);
  for (const std::size_t axis : {std::size_t{0}, axes.channels}) {
    if (attrs.ksize[axis] != 1 || attrs.strides[axis] != 1) {
      fail_with_shapes(context,
                       "Pooling over the batch or the channels: the window and the stride "
                       "there must be 1");
    }
  }
  check_padding_numbers(context, padding, 4, {0, axes.channels});
  std::vector<Dim> dims = images.has_rank() ? images.dims() : std::vector<Dim>(4, None);
  std::vector<std::size_t> pooled = {axes.rows, axes.columns};
  // MaxPool has windows of one channel, which images without channels do not hold.
  if (std::is_same_v<Attrs, MaxPoolAttrs>) pooled.push_back(axes.channels);
  for (const std::size_t axis : pooled) {
    dims[axis] = window_output(context, dims[axis], attrs.ksize[axis], attrs.strides[axis],
                               attrs.padding, 1, padding.at(axis));
  }
  return Shape(std::move(dims));
}

void max_pool_shape(InferenceContext& context) {
  require_dtype(context, 0, "input", kRealNumbers);
  require_rank(context, 0, 4);
  context.add_output(context.dtype(0), pooled_shape<MaxPoolAttrs>(context, context.shape(0)));
}

void avg_pool_shape(InferenceContext& context) {
  require_dtype(context, 0, "value", kFloats);
  require_rank(context, 0, 4);
  context.add_output(context.dtype(0), pooled_shape<PoolAttrs>(context, context.shape(0)));
}

template <class Attrs>
void require_result_shape(const InferenceContext& context, const Shape& images, std::size_t input) {
  const Shape expected = pooled_shape<Attrs>(context, images);
  if (expected.compatible(context.shape(input))) return;
  fail_with_shapes(context, fmt::format("input {} must have the shape {} of the result", input,
                                        expected.text()));
}

/// Inputs: image, result, gradient of the result.
void max_pool_grad_shape(InferenceContext& context) {
  require_rank(context, 0, 4);
  require_result_shape<MaxPoolAttrs>(context, context.shape(0), 1);
  require_result_shape<MaxPoolAttrs>(context, context.shape(0), 2);
  context.add_output(context.dtype(0), context.shape(0));
}

/// Inputs: the relu's result, gradient of the pooling result.
void max_pool_relu_grad_shape(InferenceContext& context) {
  const Shape& images = context.shape(0);
  context.add_output(context.dtype(0), images);
  if (!context.attrs<MaxPoolReluGradAttrs>().channel_sums) return;
  context.add_output(context.dtype(0), Shape{images.has_rank() ? images[3] : Dim(None)});
}

/// Inputs: image, result, gradient of the image's gradient.
void max_pool_grad_grad_shape(InferenceContext& context) {
  require_rank(context, 0, 4);
  require_result_shape<PoolAttrs>(context, context.shape(0), 1);
  if (!context.shape(2).compatible(context.shape(0))) {
    fail_with_shapes(context, "Shapes must be equal");
  }
  context.add_output(context.dtype(0), pooled_shape<PoolAttrs>(context, context.shape(0)));
}

/// Inputs: the image's sizes, gradient of the result.
void avg_pool_grad_shape(InferenceContext& context) {
  require_rank(context, 0, 1);
  Shape images = Shape::of_rank(4);
  if (const Array* sizes = context.constant(0)) {
    if (sizes->elements() != 4) fail_with_shapes(context, "The sizes must be 4 numbers");
    std::vector<Dim> dims;
    for (const std::int32_t size : sizes->flat<std::int32_t>()) dims.push_back(std::max(size, 0));
    images = Shape(std::move(dims));
  }
  require_result_shape<PoolAttrs>(context, images, 1);
  context.add_output(context.dtype(1), images);
}

Tensor node_of(const char* op, const Operation& like, std::initializer_list<Tensor> inputs,
               const std::optional<Attrs>& attrs = std::nullopt) {
  const Operand first(*inputs.begin(), like.site());
  OpBuilder builder(op, "", like.site(), {&first});
  builder.inputs(inputs, "input");
  return builder.attrs(attrs.value_or(like.attrs())).output();
}

/// Returns the attributes of MaxPoolGradGrad, which has no explicit paddings.
PoolAttrs attrs_of_grad_grad(const Operation& max_pool_grad) {
  const auto& attrs = max_pool_grad.attrs().as<MaxPoolAttrs>();
  if (attrs.pool.padding != Padding::explicit_numbers) return attrs.pool;
  throw ValueError(
      "Attr 'padding' of 'MaxPoolGradGrad' Op passed string 'EXPLICIT' not in: "
      "\"SAME\", \"VALID\".",
      {.site = max_pool_grad.site(), .hint = "pad the image before max_pool"});
}

Tensor zeros_node_like(const Tensor& x, Site site) {
  const Operand operand(x, site);
  return OpBuilder("ZerosLike", "zeros_like", site, {&operand}).input(operand, "x").output();
}

std::vector<OptionalGradient> max_pool_gradient(const Operation& op,
                                                const std::vector<OptionalGradient>& dys) {
  return {
      node_of("MaxPoolGrad", op, {op.input(0), op.output(0), dense_gradient(dys[0], op.site())})};
}

/// The choice of the largest elements is piecewise constant: image and result get zeros.
std::vector<OptionalGradient> max_pool_grad_gradient(const Operation& op,
                                                     const std::vector<OptionalGradient>& dys) {
  return {
      zeros_node_like(op.input(0), op.site()), zeros_node_like(op.input(1), op.site()),
      node_of("MaxPoolGradGrad", op, {op.input(0), op.input(1), dense_gradient(dys[0], op.site())},
              attrs_of_grad_grad(op))};
}

std::vector<OptionalGradient> max_pool_grad_grad_gradient(
    const Operation& op, const std::vector<OptionalGradient>& dys) {
  return {zeros_node_like(op.input(0), op.site()), zeros_node_like(op.input(1), op.site()),
          node_of("MaxPoolGrad", op, {op.input(0), op.input(1), dense_gradient(dys[0], op.site())},
                  MaxPoolAttrs{op.attrs().as<PoolAttrs>()})};
}

std::vector<OptionalGradient> avg_pool_gradient(const Operation& op,
                                                const std::vector<OptionalGradient>& dys) {
  const Tensor sizes = shape(op.input(0), {}, op.site());
  return {node_of("AvgPoolGrad", op, {sizes, dense_gradient(dys[0], op.site())})};
}

std::vector<OptionalGradient> avg_pool_grad_gradient(const Operation& op,
                                                     const std::vector<OptionalGradient>& dys) {
  return {std::nullopt, node_of("AvgPool", op, {dense_gradient(dys[0], op.site())})};
}

/// Adds a node of a pooling op. `Attrs` are those of the op.
template <class Attrs>
Tensor pooling_node(const char* op, const char* argument, const Operand& value,
                    const Extents& ksize, const Extents& strides, const WindowPadding& padding,
                    const PoolOptions& options, Site site) {
  OpBuilder builder(op, options.name, site, {&value});
  PoolAttrs attrs;
  const DataFormat likely = likely_format(options.data_format);
  attrs.ksize = expand_extents("ksize", ksize, likely, site);
  attrs.strides = expand_extents("strides", strides, likely, site);
  check_explicit_padding(padding, site);
  if (std::count(attrs.ksize.begin(), attrs.ksize.end(), 0) > 0) {
    throw ValueError(fmt::format("`ksize` cannot be zero. Received: ksize=[{}]",
                                 fmt::join(ksize.values(), ", ")),
                     {.site = site, .op = op});
  }
  builder.input(value, argument);
  ParsedPadding parsed = parse_padding(op, padding, site);
  attrs.padding = parsed.padding;
  attrs.format = parse_data_format(op, options.data_format, site);
  if constexpr (std::is_same_v<Attrs, MaxPoolAttrs>) {
    return builder.attrs(MaxPoolAttrs{attrs, std::move(parsed.numbers)}).output();
  }
  return builder.attrs(attrs).output();
}

}  // namespace

PoolGeometry pool_geometry(const PoolAttrs& attrs, const Shape& images,
                           const std::vector<std::int64_t>& explicit_paddings) {
  const ImageAxes axes = image_axes(attrs.format);
  const ParsedPadding padding{attrs.padding, explicit_paddings};
  const auto slide = [&](std::size_t axis) {
    return window_axis(images.size(axis), attrs.ksize[axis], attrs.strides[axis], attrs.padding, 1,
                       padding.at(axis));
  };
  const bool first = attrs.format == DataFormat::nchw;
  const std::int64_t channels = images.size(axes.channels);
  return {.batch = first ? images.size(0) * channels : images.size(0),
          .channels = first ? 1 : channels,
          .rows = slide(axes.rows),
          .columns = slide(axes.columns)};
}

static void register_pool_ops(OpRegistry& registry) {
  registry.add({.name = "MaxPool",
                .inputs = {"input: T"},
                .outputs = {"output: T"},
                .attrs = attributes<MaxPoolAttrs>(),
                .shape = max_pool_shape,
                .gradient = max_pool_gradient});
  registry.add({.name = "MaxPoolGrad",
                .inputs = {"orig_input: T", "orig_output: T", "grad: T"},
                .outputs = {"output: T"},
                .attrs = attributes<MaxPoolAttrs>(),
                .shape = max_pool_grad_shape,
                .gradient = max_pool_grad_gradient});
  registry.add({.name = "MaxPoolGradGrad",
                .inputs = {"orig_input: T", "orig_output: T", "grad: T"},
                .outputs = {"output: T"},
                .attrs = attributes<PoolAttrs>(),
                .shape = max_pool_grad_grad_shape,
                .gradient = max_pool_grad_grad_gradient});
  registry.add({.name = "_MaxPoolReluGrad",
                .inputs = {"orig_input: T", "orig_output: T", "grad: T"},
                .outputs = {"output: T", "channel_sums: N * T"},
                .attrs = attributes<MaxPoolReluGradAttrs>(),
                .shape = max_pool_relu_grad_shape,
                .gradient = NoGradient{"it is created after the gradients, in plans only"},
                .plan_only = true});
  registry.add({.name = "AvgPool",
                .inputs = {"value: T"},
                .outputs = {"output: T"},
                .attrs = attributes<PoolAttrs>(),
                .shape = avg_pool_shape,
                .gradient = avg_pool_gradient});
  registry.add({.name = "AvgPoolGrad",
                .inputs = {"orig_input_shape: int32", "grad: T"},
                .outputs = {"output: T"},
                .attrs = attributes<PoolAttrs>(),
                .shape = avg_pool_grad_shape,
                .gradient = avg_pool_grad_gradient});
}

Tensor max_pool(const Operand& value, const Extents& ksize, const Extents& strides,
                const WindowPadding& padding, PoolOptions options, Site site) {
  return pooling_node<MaxPoolAttrs>("MaxPool", "input", value, ksize, strides, padding, options,
                                    site);
}

Tensor avg_pool(const Operand& value, const Extents& ksize, const Extents& strides,
                std::string_view padding, PoolOptions options, Site site) {
  return pooling_node<PoolAttrs>("AvgPool", "value", value, ksize, strides,
                                 WindowPadding(std::string(padding)), options, site);
}

}  // namespace towerflow::nn

namespace towerflow {
OpFamily pool_family() { return {.ops = nn::register_pool_ops}; }
}  // namespace towerflow
