#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ops/nn/depthwise_conv2d.h"

namespace towerflow::nn {

struct DepthwiseConv2DOptions {
  std::optional<std::vector<int>> rate{};  ///< older name of `dilations`
  std::string name{};
  std::optional<std::string> data_format{};     ///< "NHWC" (default) or "NCHW"
  std::optional<std::vector<int>> dilations{};  ///< steps inside a window: rows, columns
};

/// depthwise_conv2d_native, dilated by space_to_batch_nd and batch_to_space_nd if a rate is more
/// than 1.
///
/// shapes   input [N,H,W,C], filter [R,S,C,M] -> [N,P,Q,C * M], with P and Q as in conv2d
/// dtypes   float32 (oneDNN), float64 (reference)
/// grads    those of the ops it consists of
/// errors   as conv2d; ValueError: both `rate` and `dilations`
/// source   tf.nn.depthwise_conv2d
Tensor depthwise_conv2d(const Operand& input, const Operand& filter, const Extents& strides,
                        const WindowPadding& padding, DepthwiseConv2DOptions options = {},
                        Site site = Site::current());

/// depthwise_conv2d, then a convolution of each pixel that mixes the channels.
///
/// shapes   input [N,H,W,C], depthwise_filter [R,S,C,M], pointwise_filter [1,1,C * M,K]
///          -> [N,P,Q,K], with P and Q as in conv2d
/// dtypes   as depthwise_conv2d
/// grads    those of the ops it consists of
/// errors   as depthwise_conv2d; ValueError: another pointwise filter
/// source   tf.nn.separable_conv2d
Tensor separable_conv2d(const Operand& input, const Operand& depthwise_filter,
                        const Operand& pointwise_filter, const Extents& strides,
                        const WindowPadding& padding, DepthwiseConv2DOptions options = {},
                        Site site = Site::current());

}  // namespace towerflow::nn
