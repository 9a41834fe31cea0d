#pragma once

#include <string>
#include <vector>

#include "core/graph/operand.h"
#include "ops/nn/window_args.h"

namespace towerflow::nn {

struct Conv2DOptions {
  ByName by_name = ByName();
  std::string data_format = "NHWC";        ///< or "NCHW"
  std::vector<int> dilations{1, 1, 1, 1};  ///< steps inside a window; 1, 2 or 4 numbers
  std::string name{};
};

/// 2-D convolution (strictly speaking, a cross-correlation).
///
///   y[n, p, q, k] = sum over r, s, c of
///                   x[n, p sh + r dh - top, q sw + s dw - left, c] w[r, s, c, k]
///
/// shapes   input [N,H,W,C], filter [R,S,C,K] -> [N,P,Q,K]; SAME: P = ceil(H / sh), the odd element
///          of padding at the bottom and right; VALID: P = ceil((H - (R - 1) dh) / sh). A filter
///          [R,S,C / g,K] convolves g groups of channels separately
/// dtypes   float32 (winograd, oneDNN), float64 and int32 (reference)
/// grads    input: conv2d_backprop_input; filter: conv2d_backprop_filter
/// errors   ValueError: ranks, channels that differ, stride or dilation < 1, a filter larger than
///          the image unless padding is SAME, unknown padding or format
/// source   tf.nn.conv2d
Tensor conv2d(const Operand& input, const Operand& filter, const Extents& strides,
              const WindowPadding& padding, Conv2DOptions options = {},
              Site site = Site::current());

/// Computes the gradient of conv2d with respect to its input.
///
/// shapes   input_sizes [4] (int32), filter [R,S,C,K], out_backprop [N,P,Q,K] -> [N,H,W,C]
/// dtypes   as conv2d
/// grads    filter: conv2d_backprop_filter; out_backprop: conv2d
/// errors   ValueError: sizes that do not match
/// source   tf.nn.conv2d_backprop_input
Tensor conv2d_backprop_input(const Operand& input_sizes, const Operand& filter,
                             const Operand& out_backprop, const Extents& strides,
                             const WindowPadding& padding, Conv2DOptions options = {},
                             Site site = Site::current());

/// Transposed convolution ("deconvolution"), with which generators enlarge images:
/// conv2d_backprop_input as a layer.
///
/// shapes   value [N,P,Q,K], filter [R,S,C,K], output_shape [4] (int32 or int64), the sizes
///          [N,H,W,C] that conv2d would turn into [N,P,Q,K] -> [N,H,W,C]; numbers in a list of
///          numbers and tensors give static sizes
/// dtypes   as conv2d
/// grads    filter: conv2d_backprop_filter; value: conv2d
/// errors   ValueError: sizes that do not match
/// source   tf.nn.conv2d_transpose
///
/// The overload with a positional padding is a template, so that options in braces are taken for
/// options; the other one takes "SAME".
template <class = void>
Tensor conv2d_transpose(const Operand& value, const Operand& filter, const Operand& output_shape,
                        const Extents& strides, const WindowPadding& padding,
                        Conv2DOptions options = {}, Site site = Site::current());
Tensor conv2d_transpose(const Operand& value, const Operand& filter, const Operand& output_shape,
                        const Extents& strides, Conv2DOptions options = {},
                        Site site = Site::current());

/// Computes the gradient of conv2d with respect to its filter.
///
/// shapes   input [N,H,W,C], filter_sizes [4] (int32), out_backprop [N,P,Q,K] -> [R,S,C,K]
/// dtypes   as conv2d
/// grads    input: conv2d_backprop_input; out_backprop: conv2d
/// errors   ValueError: sizes that do not match
/// source   tf.nn.conv2d_backprop_filter
Tensor conv2d_backprop_filter(const Operand& input, const Operand& filter_sizes,
                              const Operand& out_backprop, const Extents& strides,
                              const WindowPadding& padding, Conv2DOptions options = {},
                              Site site = Site::current());

}  // namespace towerflow::nn
