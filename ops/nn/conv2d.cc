#include "ops/nn/conv2d.h"

#include <fmt/format.h>

#include <algorithm>

#include "ops/array/indexed_slices.h"
#include "ops/array/shape_input.h"
#include "ops/array/shape_of.h"
#include "ops/family.h"
#include "ops/nn/conv2d_shape.h"

namespace towerflow::nn {
namespace {

/// The dtypes that TensorFlow's ops of a kind declare.
std::initializer_list<DType> conv_types(ConvKind kind) {
  static constexpr std::initializer_list<DType> kPlain = {
      DType::float16, DType::bfloat16, DType::float32, DType::float64, DType::int32};
  static constexpr std::initializer_list<DType> kDepthwise = {DType::float16, DType::bfloat16,
                                                              DType::float32, DType::float64};
  return kind == ConvKind::plain ? kPlain : kDepthwise;
}

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

Dim dim_of(const Shape& shape, std::size_t axis) {
  return shape.has_rank() ? shape[axis] : Dim(None);
}

/// Returns the number of results of a plain convolution; fails if the channels do not match.
Dim plain_channels(const InferenceContext& context, Dim channels, const Shape& filter) {
  const Dim depth = dim_of(filter, 2), results = dim_of(filter, 3);
  if (depth.known() && depth.size() == 0) {
    fail_with_shapes(context, "Depth of filter must not be 0");
  }
  if (!channels.known() || !depth.known() || channels == depth) return results;
  if (channels.size() % depth.size() != 0 || channels.size() == 0) {
    fail_with_shapes(context,
                     fmt::format("Depth of input ({}) is not a multiple of input depth of filter "
                                 "({})",
                                 channels.size(), depth.size()));
  }
  const std::int64_t groups = channels.size() / depth.size();
  if (results.known() && results.size() % groups != 0) {
    fail_with_shapes(context,
                     fmt::format("Depth of output ({}) is not a multiple of the number of groups "
                                 "({})",
                                 results.size(), groups));
  }
  return results;
}

/// Returns the number of results of a depthwise convolution; fails if the channels do not match.
Dim depthwise_channels(const InferenceContext& context, Dim channels, const Shape& filter) {
  const Dim depth = dim_of(filter, 2), multiplier = dim_of(filter, 3);
  if (channels.known() && depth.known() && channels != depth) {
    fail_with_shapes(context, fmt::format("Dimensions must be equal, but are {} and {}",
                                          channels.size(), depth.size()));
  }
  const Dim known = channels.known() ? channels : depth;
  if (!known.known() || !multiplier.known()) return None;
  std::int64_t results = 0;
  if (__builtin_mul_overflow(known.size(), multiplier.size(), &results)) {
    fail_with_shapes(context, "The convolution has too many results");
  }
  return results;
}

template <ConvKind kKind>
void conv_forward_shape(InferenceContext& context) {
  require_dtype(context, 0, "input", conv_types(kKind));
  require_rank(context, 0, 4);
  require_rank(context, 1, 4);
  context.add_output(context.dtype(0), convolved_shape(context, context.attrs<Conv2DAttrs>(), kKind,
                                                       context.shape(0), context.shape(1)));
}

void fused_conv2d_shape(InferenceContext& context) {
  context.add_output(context.dtype(0),
                     convolved_shape(context, context.attrs<FusedConv2DAttrs>().conv,
                                     ConvKind::plain, context.shape(0), context.shape(1)));
}

void check_backprop(const InferenceContext& context, ConvKind kind, const Shape& images,
                    const Shape& filter) {
  const Shape expected =
      convolved_shape(context, context.attrs<Conv2DAttrs>(), kind, images, filter);
  if (expected.compatible(context.shape(2))) return;
  fail_with_shapes(
      context, fmt::format("out_backprop must have the shape {} of the result", expected.text()));
}

template <ConvKind kKind>
void backprop_input_shape(InferenceContext& context) {
  require_dtype(context, 1, "filter", conv_types(kKind));
  require_rank(context, 1, 4);
  require_rank(context, 2, 4);
  const Shape images = sizes_shape(context, 0);
  check_backprop(context, kKind, images, context.shape(1));
  if (kKind == ConvKind::depthwise) return context.add_output(context.dtype(1), images);
  std::vector<Dim> dims = images.dims();
  dims[0] = dim_of(context.shape(2), 0);  // as in TensorFlow, whatever the sizes say
  context.add_output(context.dtype(1), Shape(std::move(dims)));
}

template <ConvKind kKind>
void backprop_filter_shape(InferenceContext& context) {
  require_dtype(context, 0, "input", conv_types(kKind));
  require_rank(context, 0, 4);
  require_rank(context, 2, 4);
  const Shape filter = sizes_shape(context, 1);
  check_backprop(context, kKind, context.shape(0), filter);
  context.add_output(context.dtype(0), filter);
}

/// Adds a node of one of the convolution ops with the attributes of `like`, for gradients.
Tensor make_conv_like(const char* op, const Operation& like, const Tensor& a, const Tensor& b,
                      const Tensor* c = nullptr) {
  const Operand first(a, like.site());
  OpBuilder builder(op, "", like.site(), {&first});
  builder.input(first, "a").input(b, "b");
  if (c != nullptr) builder.input(*c, "c");
  return builder.attrs(like.attrs()).output();
}

template <ConvKind kKind>
std::vector<OptionalGradient> conv_forward_gradient(const Operation& op,
                                                    const std::vector<OptionalGradient>& dys) {
  const Tensor dy = dense_gradient(dys[0], op.site());
  const Tensor sizes = shape(op.input(0), {}, op.site());
  const Tensor filter = op.input(1);
  if constexpr (kKind == ConvKind::depthwise) {  // the shape of the filter comes after dx
    const Tensor dx = make_conv_like(ops_of(kKind).input, op, sizes, filter, &dy);
    const Tensor filter_sizes = shape(filter, {}, op.site());
    return {dx, make_conv_like(ops_of(kKind).filter, op, op.input(0), filter_sizes, &dy)};
  }
  const Tensor filter_sizes = shape(filter, {}, op.site());
  const Tensor dx = make_conv_like(ops_of(kKind).input, op, sizes, filter, &dy);
  return {dx, make_conv_like(ops_of(kKind).filter, op, op.input(0), filter_sizes, &dy)};
}

template <ConvKind kKind>
std::vector<OptionalGradient> backprop_input_gradient(const Operation& op,
                                                      const std::vector<OptionalGradient>& dys) {
  const Tensor dx = dense_gradient(dys[0], op.site());
  const Tensor filter_sizes = shape(op.input(1), {}, op.site());
  const Tensor dy = op.input(2);
  const Tensor dfilter = make_conv_like(ops_of(kKind).filter, op, dx, filter_sizes, &dy);
  return {std::nullopt, dfilter, make_conv_like(ops_of(kKind).forward, op, dx, op.input(1))};
}

template <ConvKind kKind>
std::vector<OptionalGradient> backprop_filter_gradient(const Operation& op,
                                                       const std::vector<OptionalGradient>& dys) {
  const Tensor dfilter = dense_gradient(dys[0], op.site());
  const Tensor sizes = shape(op.input(0), {}, op.site());
  const Tensor dy = op.input(2);
  const Tensor dx = make_conv_like(ops_of(kKind).input, op, sizes, dfilter, &dy);
  return {dx, std::nullopt, make_conv_like(ops_of(kKind).forward, op, op.input(0), dfilter)};
}

/// Returns the cost of any of the three convolution ops: for the same filter and result, which are
/// among its inputs and outputs, their flops are equal.
Cost conv_cost(ConvKind kind, const Shape& filter, const Shape& result,
               std::span<const OutputSpec> inputs, std::span<const OutputSpec> outputs) {
  Cost cost;
  const double results = static_cast<double>(
      kind == ConvKind::plain ? filter.size(3) : filter.size(2) * filter.size(3));
  cost.flops = 2.0 * static_cast<double>(result.elements()) *
               static_cast<double>(filter.elements()) / std::max(results, 1.0);
  for (const auto& operands : {inputs, outputs}) {
    for (const OutputSpec& spec : operands) {
      cost.bytes +=
          static_cast<double>(spec.shape.elements()) * static_cast<double>(dtype_size(spec.dtype));
    }
  }
  return cost;
}

template <ConvKind kKind>
void add_conv_ops(OpRegistry& registry, const AttrsDef& attributes) {
  registry.add({.name = ops_of(kKind).forward,
                .inputs = {"input: T", "filter: T"},
                .outputs = {"output: T"},
                .attrs = attributes,
                .shape = conv_forward_shape<kKind>,
                .gradient = conv_forward_gradient<kKind>,
                .cost = [](auto inputs, auto outputs) {
                  return conv_cost(kKind, inputs[1].shape, outputs[0].shape, inputs, outputs);
                }});
  registry.add({.name = ops_of(kKind).input,
                .inputs = {"input_sizes: int32", "filter: T", "out_backprop: T"},
                .outputs = {"output: T"},
                .attrs = attributes,
                .shape = backprop_input_shape<kKind>,
                .gradient = backprop_input_gradient<kKind>,
                .cost = [](auto inputs, auto outputs) {
                  return conv_cost(kKind, inputs[1].shape, inputs[2].shape, inputs, outputs);
                }});
  registry.add({.name = ops_of(kKind).filter,
                .inputs = {"input: T", "filter_sizes: int32", "out_backprop: T"},
                .outputs = {"output: T"},
                .attrs = attributes,
                .shape = backprop_filter_shape<kKind>,
                .gradient = backprop_filter_gradient<kKind>,
                .cost = [](auto inputs, auto outputs) {
                  return conv_cost(kKind, outputs[0].shape, inputs[2].shape, inputs, outputs);
                }});
}

AttrsDef plain_attributes() { return attributes<Conv2DAttrs>().fixed("use_cudnn_on_gpu", true); }

}  // namespace

Shape convolved_shape(const InferenceContext& context, const Conv2DAttrs& attrs, ConvKind kind,
                      const Shape& images, const Shape& filter) {
  const ImageAxes axes = image_axes(attrs.format);
  if (attrs.strides[0] != 1 || attrs.strides[axes.channels] != 1) {
    fail_with_shapes(context, "Strides in the batch and depth dimensions must be 1");
  }
  if (attrs.dilations[0] != 1 || attrs.dilations[axes.channels] != 1) {
    fail_with_shapes(context, "Dilations in the batch and depth dimensions must be 1");
  }
  const ParsedPadding padding = attrs.parsed_padding();
  check_padding_numbers(context, padding, 4, {0, axes.channels});
  const Dim channels = dim_of(images, axes.channels);
  std::vector<Dim> dims(4, None);
  dims[axes.channels] = kind == ConvKind::plain ? plain_channels(context, channels, filter)
                                                : depthwise_channels(context, channels, filter);
  dims[0] = dim_of(images, 0);
  const auto slide = [&](std::size_t axis, std::size_t window) {
    dims[axis] =
        window_output(context, dim_of(images, axis), dim_of(filter, window), attrs.strides[axis],
                      attrs.padding, attrs.dilations[axis], padding.at(axis));
  };
  slide(axes.rows, 0);
  slide(axes.columns, 1);
  return Shape(std::move(dims));
}

void register_conv_ops(OpRegistry& registry, ConvKind kind, const AttrsDef& attributes) {
  if (kind == ConvKind::plain)
    add_conv_ops<ConvKind::plain>(registry, attributes);
  else
    add_conv_ops<ConvKind::depthwise>(registry, attributes);
}

ConvExtents conv_extents(const Extents& strides, const WindowPadding& padding,
                         const Conv2DOptions& options, Site site) {
  const DataFormat format = likely_format(options.data_format);
  check_explicit_padding(padding, site);
  const auto steps = expand_extents("strides", strides, format, site);
  return {steps, expand_extents("dilations", options.dilations, format, site)};
}

Conv2DAttrs conv_attrs(const char* op, const ConvExtents& extents, const WindowPadding& padding,
                       const Conv2DOptions& options, Site site) {
  ParsedPadding parsed = parse_padding(op, padding, site);
  return {.strides = extents.strides,
          .padding = parsed.padding,
          .format = parse_data_format(op, options.data_format, site),
          .explicit_paddings = std::move(parsed.numbers),
          .dilations = extents.dilations};
}

ConvGeometry conv_geometry(const Conv2DAttrs& attrs, const Shape& images, const Shape& filter,
                           ConvKind kind) {
  const ImageAxes axes = image_axes(attrs.format);
  const ParsedPadding padding = attrs.parsed_padding();
  const auto slide = [&](std::size_t axis, std::size_t window) {
    return window_axis(images.size(axis), filter.size(window), attrs.strides[axis], attrs.padding,
                       attrs.dilations[axis], padding.at(axis));
  };
  const std::int64_t channels = images.size(axes.channels), depth = filter.size(2);
  const bool depthwise = kind == ConvKind::depthwise;
  return {.batch = images.size(0),
          .in_channels = channels,
          .out_channels = depthwise ? channels * filter.size(3) : filter.size(3),
          .rows = slide(axes.rows, 0),
          .columns = slide(axes.columns, 1),
          .groups = std::max<std::int64_t>(
              depthwise ? channels : channels / std::max<std::int64_t>(depth, 1), 1),
          .channels_first = attrs.format == DataFormat::nchw};
}

static void register_conv2d_ops(OpRegistry& registry) {
  register_conv_ops(registry, ConvKind::plain, plain_attributes());
  registry.add({.name = "_FusedConv2D",
                .inputs = {"input: T", "filter: T", "bias: T"},
                .outputs = {"output: T"},
                .attrs = attributes<FusedConv2DAttrs>(),
                .shape = fused_conv2d_shape,
                .gradient = NoGradient{"it is created after the gradients, in plans only"},
                .cost =
                    [](auto inputs, auto outputs) {
                      return conv_cost(ConvKind::plain, inputs[1].shape, outputs[0].shape, inputs,
                                       outputs);
                    },
                .plan_only = true});
}

Tensor conv2d(const Operand& input, const Operand& filter, const Extents& strides,
              const WindowPadding& padding, Conv2DOptions options, Site site) {
  const ConvExtents extents = conv_extents(strides, padding, options, site);
  OpBuilder builder("Conv2D", options.name, site, {&input, &filter});
  builder.input(input, "input", "T").input(filter, "filter", "T");
  return builder.attrs(conv_attrs("Conv2D", extents, padding, options, site)).output();
}

Tensor conv2d_backprop_input(const Operand& input_sizes, const Operand& filter,
                             const Operand& out_backprop, const Extents& strides,
                             const WindowPadding& padding, Conv2DOptions options, Site site) {
  const char* op = "Conv2DBackpropInput";
  const ConvExtents extents = conv_extents(strides, padding, options, site);
  OpBuilder builder(op, options.name, site, {&input_sizes, &filter, &out_backprop});
  builder.index_input(input_sizes, "input_sizes")
      .input(filter, "filter", "T")
      .input(out_backprop, "out_backprop", "T");
  const Tensor made = builder.attrs(conv_attrs(op, extents, padding, options, site)).output();
  const Shape sizes = constant_value_as_shape(made.op().input(0));
  if (made.shape().fully_known() || !sizes.has_rank()) return made;
  std::vector<Dim> dims = sizes.dims();
  dims.at(0) = None;  // known from the batch of `out_backprop` only
  Tensor images = made;
  images.set_shape(Shape(std::move(dims)), site);
  return images;
}

template <class>
Tensor conv2d_transpose(const Operand& value, const Operand& filter, const Operand& output_shape,
                        const Extents& strides, const WindowPadding& padding, Conv2DOptions options,
                        Site site) {
  if (options.name.empty()) options.name = "conv2d_transpose";
  return conv2d_backprop_input(output_shape, filter, value, strides, padding, std::move(options),
                               site);
}
template Tensor conv2d_transpose<void>(const Operand& value, const Operand& filter,
                                       const Operand& output_shape, const Extents& strides,
                                       const WindowPadding& padding, Conv2DOptions options,
                                       Site site);

Tensor conv2d_transpose(const Operand& value, const Operand& filter, const Operand& output_shape,
                        const Extents& strides, Conv2DOptions options, Site site) {
  return conv2d_transpose<void>(value, filter, output_shape, strides, "SAME", std::move(options),
                                site);
}

Tensor conv2d_backprop_filter(const Operand& input, const Operand& filter_sizes,
                              const Operand& out_backprop, const Extents& strides,
                              const WindowPadding& padding, Conv2DOptions options, Site site) {
  const char* op = "Conv2DBackpropFilter";
  const ConvExtents extents = conv_extents(strides, padding, options, site);
  OpBuilder builder(op, options.name, site, {&input, &filter_sizes, &out_backprop});
  builder.input(input, "input", "T")
      .index_input(filter_sizes, "filter_sizes")
      .input(out_backprop, "out_backprop", "T");
  return builder.attrs(conv_attrs(op, extents, padding, options, site)).output();
}

}  // namespace towerflow::nn

namespace towerflow {
OpFamily conv2d_family() { return {.ops = nn::register_conv2d_ops}; }
}  // namespace towerflow
