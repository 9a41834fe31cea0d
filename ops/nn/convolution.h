#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ops/nn/conv2d.h"

namespace towerflow::nn {

struct ConvolutionOptions {
  std::optional<std::vector<int>> strides{};        ///< one number for each spatial dimension
  std::optional<std::vector<int>> dilation_rate{};  ///< steps inside a window, likewise
  std::string name{};
  std::optional<std::string> data_format{};     ///< "NWC" or "NCW"; "NHWC" or "NCHW"
  std::optional<std::vector<int>> dilations{};  ///< newer name of `dilation_rate`
};

/// Convolves signals or images, by the rank of the filter. It is dilated by space_to_batch_nd and
/// batch_to_space_nd if a rate is more than 1.
///
/// shapes   input [N,W,C], filter [S,C,K] -> [N,Q,K]; input [N,H,W,C], filter [R,S,C,K]
///          -> [N,P,Q,K], with P and Q as in conv2d
/// dtypes   as conv2d
/// grads    those of the ops it consists of
/// errors   as conv2d; ValueError: a rank that is unknown or another, strides and rates that are
///          both more than 1; UnimplementedError: volumes
/// source   tf.nn.convolution
Tensor convolution(const Operand& input, const Operand& filter, const WindowPadding& padding,
                   ConvolutionOptions options = {}, Site site = Site::current());

struct AtrousConv2DOptions {
  std::string name{};
};

/// convolution of images [N,H,W,C] with the same rate in both dimensions.
///
/// source   tf.nn.atrous_conv2d
Tensor atrous_conv2d(const Operand& value, const Operand& filters, int rate,
                     const WindowPadding& padding, AtrousConv2DOptions options = {},
                     Site site = Site::current());

/// conv2d_transpose with a dilated filter, made of space_to_batch, conv2d_backprop_input and
/// batch_to_space.
///
/// shapes   value [N,P,Q,K], filters [R,S,C,K], output_shape [N,H,W,C] -> output_shape
/// dtypes   as conv2d
/// grads    those of the ops it consists of
/// errors   as conv2d_transpose; ValueError: rate < 1
/// source   tf.nn.atrous_conv2d_transpose
Tensor atrous_conv2d_transpose(const Operand& value, const Operand& filters,
                               const std::vector<int>& output_shape, int rate,
                               std::string_view padding, AtrousConv2DOptions options = {},
                               Site site = Site::current());

struct Conv1DOptions {
  std::optional<std::string> data_format{};  ///< "NWC" (default) or "NCW"
  std::string name{};
  std::optional<std::vector<int>> dilations{};  ///< steps inside a window: 1 number or 3
};

/// Convolves signals: conv2d with images of one row.
///
/// shapes   value [N,W,C], filters [S,C,K] -> [N,Q,K], with Q as in conv2d
/// dtypes   as conv2d
/// grads    those of the ops it consists of
/// errors   as conv2d
/// source   tf.nn.conv1d
Tensor conv1d(const Operand& value, const Operand& filters, int stride, std::string_view padding,
              Conv1DOptions options = {}, Site site = Site::current());

struct PoolingOptions {
  std::optional<std::vector<int>> dilation_rate{};  ///< steps inside a window
  std::optional<std::vector<int>> strides{};        ///< one number for each spatial dimension
  std::string name{};
  std::optional<std::string> data_format{};     ///< "NWC" or "NCW"; "NHWC" or "NCHW"
  std::optional<std::vector<int>> dilations{};  ///< newer name of `dilation_rate`
};

/// Pools signals or images: max_pool or avg_pool, by the length of `window_shape`.
///
/// shapes   input [N,W,C] or [N,H,W,C], with Q and P as in max_pool
/// dtypes   as max_pool and avg_pool
/// grads    those of the ops it consists of
/// errors   ValueError: another pooling type than "MAX" and "AVG", SAME padding with a rate of more
///          than 1, a stride larger than its window, ranks; UnimplementedError: volumes
/// source   tf.nn.pool
Tensor pool(const Operand& input, const std::vector<int>& window_shape,
            std::string_view pooling_type, std::string_view padding, PoolingOptions options = {},
            Site site = Site::current());

}  // namespace towerflow::nn
