#pragma once

#include <vector>

#include "core/graph/op_builder.h"
#include "core/graph/op_def.h"
#include "ops/nn/conv2d.h"
#include "ops/nn/conv2d_attrs.h"

/// What the plain and the depthwise convolution ops share.
namespace towerflow::nn {

/// The ops of one kind: the convolution and its two gradients.
struct ConvOps {
  const char* forward;
  const char* input;
  const char* filter;
};
inline constexpr ConvOps kPlainConv{"Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter"};
inline constexpr ConvOps kDepthwiseConv{"DepthwiseConv2dNative",
                                        "DepthwiseConv2dNativeBackpropInput",
                                        "DepthwiseConv2dNativeBackpropFilter"};
constexpr const ConvOps& ops_of(ConvKind kind) {
  return kind == ConvKind::plain ? kPlainConv : kDepthwiseConv;
}

/// Returns the shape of `images` convolved with `filter`; fails if they do not match.
Shape convolved_shape(const InferenceContext& context, const Conv2DAttrs& attrs, ConvKind kind,
                      const Shape& images, const Shape& filter);

/// Adds the three ops of a kind. `attributes` are those of TensorFlow's ops.
void register_conv_ops(OpRegistry& registry, ConvKind kind, const AttrsDef& attributes);

/// The arguments of a call that are checked before the node takes its name.
struct ConvExtents {
  std::array<int, 4> strides, dilations;
};
ConvExtents conv_extents(const Extents& strides, const WindowPadding& padding,
                         const Conv2DOptions& options, Site site);
/// Returns the attributes of a call. Those not in `extents` are checked after the tensors.
Conv2DAttrs conv_attrs(const char* op, const ConvExtents& extents, const WindowPadding& padding,
                       const Conv2DOptions& options, Site site);

}  // namespace towerflow::nn
