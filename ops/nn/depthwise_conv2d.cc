#include "ops/nn/depthwise_conv2d.h"

#include "ops/array/shape_input.h"
#include "ops/family.h"
#include "ops/nn/conv2d_shape.h"

namespace towerflow::nn {
namespace {

Conv2DOptions conv_options(const DepthwiseConv2DNativeOptions& options) {
  return {.data_format = options.data_format, .dilations = options.dilations};
}

}  // namespace

static void register_depthwise_conv2d_ops(OpRegistry& registry) {
  register_conv_ops(registry, ConvKind::depthwise, attributes<Conv2DAttrs>());
}

Tensor depthwise_conv2d_native(const Operand& input, const Operand& filter, const Extents& strides,
                               const WindowPadding& padding, DepthwiseConv2DNativeOptions options,
                               Site site) {
  const char* op = kDepthwiseConv.forward;
  const ConvExtents extents = conv_extents(strides, padding, conv_options(options), site);
  OpBuilder builder(op, options.name, site, {&input, &filter});
  builder.input(input, "input", "T").input(filter, "filter", "T");
  return builder.attrs(conv_attrs(op, extents, padding, conv_options(options), site)).output();
}

Tensor depthwise_conv2d_backprop_input(const Operand& input_sizes, const Operand& filter,
                                       const Operand& out_backprop, const Extents& strides,
                                       const WindowPadding& padding,
                                       DepthwiseConv2DNativeOptions options, Site site) {
  const char* op = kDepthwiseConv.input;
  const ConvExtents extents = conv_extents(strides, padding, conv_options(options), site);
  OpBuilder builder(op, options.name, site, {&input_sizes, &filter, &out_backprop});
  builder.input(input_sizes, "input_sizes", DType::int32)
      .input(filter, "filter", "T")
      .input(out_backprop, "out_backprop", "T");
  const Tensor made =
      builder.attrs(conv_attrs(op, extents, padding, conv_options(options), site)).output();
  return with_shape_from_sizes(made, made.op().input(0), site);
}

Tensor depthwise_conv2d_backprop_filter(const Operand& input, const Operand& filter_sizes,
                                        const Operand& out_backprop, const Extents& strides,
                                        const WindowPadding& padding,
                                        DepthwiseConv2DNativeOptions options, Site site) {
  const char* op = kDepthwiseConv.filter;
  const ConvExtents extents = conv_extents(strides, padding, conv_options(options), site);
  OpBuilder builder(op, options.name, site, {&input, &filter_sizes, &out_backprop});
  builder.input(input, "input", "T")
      .input(filter_sizes, "filter_sizes", DType::int32)
      .input(out_backprop, "out_backprop", "T");
  return builder.attrs(conv_attrs(op, extents, padding, conv_options(options), site)).output();
}

}  // namespace towerflow::nn

namespace towerflow {
OpFamily depthwise_conv2d_family() { return {.ops = nn::register_depthwise_conv2d_ops}; }
}  // namespace towerflow
