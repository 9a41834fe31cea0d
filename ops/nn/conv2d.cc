#include "ops/nn/conv2d.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/graph/op_builder.h"
#include "ops/array/indexed_slices.h"
#include "ops/array/shape_input.h"
#include "ops/array/shape_of.h"
#include "ops/family.h"
#include "ops/nn/conv2d_attrs.h"

namespace towerflow::nn {
namespace {

constexpr std::initializer_list<DType> kConvTypes = {DType::float16, DType::bfloat16,
                                                     DType::float32, DType::float64, DType::int32};

Shape sizes_shape(const InferenceContext& context, std::size_t input) {
  const Shape& vector = context.shape(input);
  require_rank(context, input, 1);
  if (vector.has_rank() && vector[0].known() && vector.size(0) != 4) {
    fail_with_shapes(context, fmt::format("The sizes must be 4 numbers, not {}", vector.size(0)));
  }
  const Array* values = context.constant(input);
  if (values == nullptr) return Shape::of_rank(4);
  std::vector<Dim> dims;
  for (std::int64_t i = 0; i < 4; ++i) {
    const std::int64_t size = values->dtype() == DType::int32 ? values->data<std::int32_t>()[i]
                                                              : values->data<std::int64_t>()[i];
    if (size < 0) fail_with_shapes(context, fmt::format("Size {} must not be negative", size));
    dims.push_back(size);
  }
  return Shape(std::move(dims));
}

/// Returns the shape of `images` convolved with `filter`; fails if they do not match.
Shape convolved_shape(const InferenceContext& context, const Conv2DAttrs& attrs,
                      const Shape& images, const Shape& filter) {
  const ImageAxes axes = image_axes(attrs.format);
  const auto dim = [](const Shape& shape, std::size_t axis) {
    return shape.has_rank() ? shape[axis] : Dim(None);
  };
  if (attrs.strides[0] != 1 || attrs.strides[axes.channels] != 1) {
    fail_with_shapes(context, "Strides in the batch and depth dimensions must be 1");
  }
  const Dim channels = dim(images, axes.channels), depth = dim(filter, 2);
  if (depth.known() && depth.size() == 0) {
    fail_with_shapes(context, "Depth of filter must not be 0");
  }
  if (channels.known() && depth.known() && channels != depth) {
    if (channels.size() % depth.size() != 0 || channels.size() == 0) {
      fail_with_shapes(
          context,
          fmt::format("Depth of input ({}) is not a multiple of input depth of filter ({})",
                      channels.size(), depth.size()));
    }
    throw errors::UnimplementedError(
        fmt::format("Convolution in groups: input has {} channels, the filter {}", channels.size(),
                    depth.size()),
        {.hint = "split the channels and concatenate the results"});
  }
  std::vector<Dim> dims(4, None);
  dims[0] = dim(images, 0);
  dims[axes.rows] = window_output(context, dim(images, axes.rows), dim(filter, 0),
                                  attrs.strides[axes.rows], attrs.padding);
  dims[axes.columns] = window_output(context, dim(images, axes.columns), dim(filter, 1),
                                     attrs.strides[axes.columns], attrs.padding);
  dims[axes.channels] = dim(filter, 3);
  return Shape(std::move(dims));
}

void conv2d_shape(InferenceContext& context) {
  require_dtype(context, 0, "input", kConvTypes);
  require_rank(context, 0, 4);
  require_rank(context, 1, 4);
  context.add_output(context.dtype(0), convolved_shape(context, context.attrs<Conv2DAttrs>(),
                                                       context.shape(0), context.shape(1)));
}

void fused_conv2d_shape(InferenceContext& context) {
  context.add_output(context.dtype(0),
                     convolved_shape(context, context.attrs<FusedConv2DAttrs>().conv,
                                     context.shape(0), context.shape(1)));
}

void check_backprop(const InferenceContext& context, const Shape& images, const Shape& filter) {
  const Shape expected = convolved_shape(context, context.attrs<Conv2DAttrs>(), images, filter);
  if (expected.compatible(context.shape(2))) return;
  fail_with_shapes(
      context, fmt::format("out_backprop must have the shape {} of the result", expected.text()));
}

void backprop_input_shape(InferenceContext& context) {
  require_dtype(context, 1, "filter", kConvTypes);
  require_rank(context, 1, 4);
  require_rank(context, 2, 4);
  const Shape images = sizes_shape(context, 0);
  check_backprop(context, images, context.shape(1));
  context.add_output(context.dtype(1), images);
}

void backprop_filter_shape(InferenceContext& context) {
  require_dtype(context, 0, "input", kConvTypes);
  require_rank(context, 0, 4);
  require_rank(context, 2, 4);
  const Shape filter = sizes_shape(context, 1);
  check_backprop(context, context.shape(0), filter);
  context.add_output(context.dtype(0), filter);
}

/// Adds a node of one of the three convolution ops with the attributes of `like`, for gradients.
Tensor make_conv_like(const char* op, const Operation& like, const Tensor& a, const Tensor& b,
                      const Tensor* c = nullptr) {
  const Operand first(a, like.site());
  OpBuilder builder(op, "", like.site(), {&first});
  builder.input(first, "a").input(b, "b");
  if (c != nullptr) builder.input(*c, "c");
  return builder.attrs(like.attrs()).output();
}

std::vector<OptionalGradient> conv2d_gradient(const Operation& op,
                                              const std::vector<OptionalGradient>& dys) {
  const Tensor dy = dense_gradient(dys[0], op.site());
  const Tensor sizes = shape(op.input(0), {}, op.site());
  const Tensor filter = op.input(1);
  const Tensor filter_sizes = shape(filter, {}, op.site());
  return {make_conv_like("Conv2DBackpropInput", op, sizes, filter, &dy),
          make_conv_like("Conv2DBackpropFilter", op, op.input(0), filter_sizes, &dy)};
}

std::vector<OptionalGradient> backprop_input_gradient(const Operation& op,
                                                      const std::vector<OptionalGradient>& dys) {
  const Tensor dx = dense_gradient(dys[0], op.site());
  const Tensor filter_sizes = shape(op.input(1), {}, op.site());
  const Tensor dy = op.input(2);
  return {std::nullopt, make_conv_like("Conv2DBackpropFilter", op, dx, filter_sizes, &dy),
          make_conv_like("Conv2D", op, dx, op.input(1))};
}

std::vector<OptionalGradient> backprop_filter_gradient(const Operation& op,
                                                       const std::vector<OptionalGradient>& dys) {
  const Tensor dfilter = dense_gradient(dys[0], op.site());
  const Tensor sizes = shape(op.input(0), {}, op.site());
  const Tensor dy = op.input(2);
  return {make_conv_like("Conv2DBackpropInput", op, sizes, dfilter, &dy), std::nullopt,
          make_conv_like("Conv2D", op, op.input(0), dfilter)};
}

/// Returns the cost of any of the three convolution ops: for the same filter and result, which are
/// among its inputs and outputs, their flops are equal.
Cost conv_cost(const Shape& filter, const Shape& result, std::span<const OutputSpec> inputs,
               std::span<const OutputSpec> outputs) {
  Cost cost;
  cost.flops = 2.0 * static_cast<double>(result.elements()) *
               static_cast<double>(filter.elements()) /
               static_cast<double>(std::max<std::int64_t>(filter.size(3), 1));
  for (const auto& operands : {inputs, outputs}) {
    for (const OutputSpec& spec : operands) {
      cost.bytes +=
          static_cast<double>(spec.shape.elements()) * static_cast<double>(dtype_size(spec.dtype));
    }
  }
  return cost;
}

/// Returns the stride of each dimension. Strides are checked before the node takes its name.
std::array<int, 4> all_strides(const Extents& strides, const Conv2DOptions& options, Site site) {
  return expand_extents("strides", strides, likely_format(options.data_format), site);
}

/// Returns the attributes. Those other than the strides are checked after the tensors.
Conv2DAttrs make_attrs(const char* op, const std::array<int, 4>& strides, std::string_view padding,
                       const Conv2DOptions& options, Site site) {
  Conv2DAttrs attrs;
  attrs.strides = strides;
  attrs.padding = parse_padding(op, padding, site);
  attrs.format = parse_data_format(op, options.data_format, site);
  for (const int dilation : options.dilations) {
    if (dilation < 1) {
      throw ValueError(fmt::format("Dilations must be > 0, but got {}", dilation),
                       {.site = site, .op = op});
    }
    if (dilation > 1) {
      throw errors::UnimplementedError(fmt::format("A convolution dilated by {}", dilation),
                                       {.site = site, .op = op});
    }
  }
  return attrs;
}

AttrsDef conv_attributes() {
  return attributes<Conv2DAttrs>()
      .fixed("use_cudnn_on_gpu", true)
      .fixed("explicit_paddings", std::vector<std::int64_t>{})
      .fixed("dilations", std::vector<std::int64_t>{1, 1, 1, 1});
}

}  // namespace

ConvGeometry conv_geometry(const Conv2DAttrs& attrs, const Shape& images, const Shape& filter) {
  return {.batch = images.size(0),
          .in_channels = images.size(3),
          .out_channels = filter.size(3),
          .rows = window_axis(images.size(1), filter.size(0), attrs.strides[1], attrs.padding),
          .columns = window_axis(images.size(2), filter.size(1), attrs.strides[2], attrs.padding)};
}

static void register_conv2d_ops(OpRegistry& registry) {
  registry.add({.name = "Conv2D",
                .inputs = {"input: T", "filter: T"},
                .outputs = {"output: T"},
                .attrs = conv_attributes(),
                .shape = conv2d_shape,
                .gradient = conv2d_gradient,
                .cost = [](auto inputs, auto outputs) {
                  return conv_cost(inputs[1].shape, outputs[0].shape, inputs, outputs);
                }});
  registry.add({.name = "Conv2DBackpropInput",
                .inputs = {"input_sizes: int32", "filter: T", "out_backprop: T"},
                .outputs = {"output: T"},
                .attrs = conv_attributes(),
                .shape = backprop_input_shape,
                .gradient = backprop_input_gradient,
                .cost = [](auto inputs, auto outputs) {
                  return conv_cost(inputs[1].shape, inputs[2].shape, inputs, outputs);
                }});
  registry.add({.name = "Conv2DBackpropFilter",
                .inputs = {"input: T", "filter_sizes: int32", "out_backprop: T"},
                .outputs = {"output: T"},
                .attrs = conv_attributes(),
                .shape = backprop_filter_shape,
                .gradient = backprop_filter_gradient,
                .cost = [](auto inputs, auto outputs) {
                  return conv_cost(outputs[0].shape, inputs[2].shape, inputs, outputs);
                }});
  registry.add({.name = "_FusedConv2D",
                .inputs = {"input: T", "filter: T", "bias: T"},
                .outputs = {"output: T"},
                .attrs = attributes<FusedConv2DAttrs>(),
                .shape = fused_conv2d_shape,
                .gradient = NoGradient{"it is created after the gradients, in plans only"},
                .cost =
                    [](auto inputs, auto outputs) {
                      return conv_cost(inputs[1].shape, outputs[0].shape, inputs, outputs);
                    },
                .plan_only = true});
}

Tensor conv2d(const Operand& input, const Operand& filter, const Extents& strides,
              std::string_view padding, Conv2DOptions options, Site site) {
  const auto steps = all_strides(strides, options, site);
  OpBuilder builder("Conv2D", options.name, site, {&input, &filter});
  builder.input(input, "input", "T").input(filter, "filter", "T");
  return builder.attrs(make_attrs("Conv2D", steps, padding, options, site)).output();
}

Tensor conv2d_backprop_input(const Operand& input_sizes, const Operand& filter,
                             const Operand& out_backprop, const Extents& strides,
                             std::string_view padding, Conv2DOptions options, Site site) {
  const char* op = "Conv2DBackpropInput";
  const auto steps = all_strides(strides, options, site);
  OpBuilder builder(op, options.name, site, {&input_sizes, &filter, &out_backprop});
  builder.index_input(input_sizes, "input_sizes")
      .input(filter, "filter", "T")
      .input(out_backprop, "out_backprop", "T");
  const Tensor made = builder.attrs(make_attrs(op, steps, padding, options, site)).output();
  return with_shape_from_sizes(made, made.op().input(0), site);
}

Tensor conv2d_transpose(const Operand& value, const Operand& filter, const Operand& output_shape,
                        const Extents& strides, std::string_view padding, Conv2DOptions options,
                        Site site) {
  if (options.name.empty()) options.name = "conv2d_transpose";
  return conv2d_backprop_input(output_shape, filter, value, strides, padding, std::move(options),
                               site);
}

Tensor conv2d_backprop_filter(const Operand& input, const Operand& filter_sizes,
                              const Operand& out_backprop, const Extents& strides,
                              std::string_view padding, Conv2DOptions options, Site site) {
  const char* op = "Conv2DBackpropFilter";
  const auto steps = all_strides(strides, options, site);
  OpBuilder builder(op, options.name, site, {&input, &filter_sizes, &out_backprop});
  builder.input(input, "input", "T")
      .index_input(filter_sizes, "filter_sizes")
      .input(out_backprop, "out_backprop", "T");
  return builder.attrs(make_attrs(op, steps, padding, options, site)).output();
}

}  // namespace towerflow::nn

namespace towerflow {
OpFamily conv2d_family() { return {.ops = nn::register_conv2d_ops}; }
}  // namespace towerflow
