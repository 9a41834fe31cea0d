#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ops/nn/conv2d.h"

namespace towerflow::nn {

struct DepthwiseConv2DNativeOptions {
  std::string data_format = "NHWC";        ///< or "NCHW"
  std::vector<int> dilations{1, 1, 1, 1};  ///< steps inside a window; 1, 2 or 4 numbers
  std::string name{};
};

/// Convolves each channel with filters of its own: result c * M + m is channel c convolved with
/// filter[.., c, m].
///
/// shapes   input [N,H,W,C], filter [R,S,C,M] -> [N,P,Q,C * M], with P and Q as in conv2d
/// dtypes   float32 (oneDNN), float64 (reference)
/// grads    input: depthwise_conv2d_backprop_input; filter: depthwise_conv2d_backprop_filter
/// errors   as conv2d
/// source   tf.nn.depthwise_conv2d_native
Tensor depthwise_conv2d_native(const Operand& input, const Operand& filter, const Extents& strides,
                               const WindowPadding& padding,
                               DepthwiseConv2DNativeOptions options = {},
                               Site site = Site::current());

/// Computes the gradient of depthwise_conv2d_native with respect to its input.
///
/// shapes   input_sizes [4] (int32), filter [R,S,C,M], out_backprop [N,P,Q,C * M] -> [N,H,W,C]
/// dtypes   as depthwise_conv2d_native
/// grads    filter: depthwise_conv2d_backprop_filter; out_backprop: depthwise_conv2d_native
/// errors   ValueError: sizes that do not match
/// source   tf.nn.depthwise_conv2d_backprop_input
Tensor depthwise_conv2d_backprop_input(const Operand& input_sizes, const Operand& filter,
                                       const Operand& out_backprop, const Extents& strides,
                                       const WindowPadding& padding,
                                       DepthwiseConv2DNativeOptions options = {},
                                       Site site = Site::current());

/// Computes the gradient of depthwise_conv2d_native with respect to its filter.
///
/// shapes   input [N,H,W,C], filter_sizes [4] (int32), out_backprop [N,P,Q,C * M] -> [R,S,C,M]
/// dtypes   as depthwise_conv2d_native
/// grads    input: depthwise_conv2d_backprop_input; out_backprop: depthwise_conv2d_native
/// errors   ValueError: sizes that do not match
/// source   tf.nn.depthwise_conv2d_backprop_filter
Tensor depthwise_conv2d_backprop_filter(const Operand& input, const Operand& filter_sizes,
                                        const Operand& out_backprop, const Extents& strides,
                                        const WindowPadding& padding,
                                        DepthwiseConv2DNativeOptions options = {},
                                        Site site = Site::current());

}  // namespace towerflow::nn
