#pragma once

#include <cstdint>

#include "core/graph/attr_fields.h"

namespace towerflow::types {

/// How windows at the border are treated: TensorFlow's `padding` argument.
enum class Padding : std::uint8_t {
  same,   ///< ceil(input / stride) outputs; if the padding is odd, the extra element goes after
  valid,  ///< only windows entirely inside the input
  explicit_numbers,  ///< given numbers of elements before and after
};

/// One spatial axis of a convolution or pooling, in elements.
struct WindowAxis {
  std::int64_t input = 0;
  std::int64_t window = 1;
  std::int64_t stride = 1;
  std::int64_t output = 0;
  std::int64_t pad_before = 0;
  std::int64_t pad_after = 0;
  std::int64_t dilation = 1;  ///< distance between neighbours in a window
};

/// Elements before and after an axis, for Padding::explicit_numbers.
struct AxisPadding {
  std::int64_t before = 0, after = 0;
};

}  // namespace towerflow::types

namespace towerflow {

template <>
inline constexpr std::array<const char*, 3> kAttrNames<Padding>{"SAME", "VALID", "EXPLICIT"};

/// Returns the axis with output size and padding filled in. `same`: ceil(input / stride) outputs;
/// `valid`: ceil((input - window + 1) / stride), where a dilated window spans
/// (window - 1) * dilation + 1 elements. Throws ValueError for a negative input or padding, for a
/// window, stride or dilation below 1, and if the window is larger than the padded input.
WindowAxis window_axis(std::int64_t input, std::int64_t window, std::int64_t stride,
                       Padding padding, std::int64_t dilation = 1, AxisPadding numbers = {});

}  // namespace towerflow

namespace towerflow::types {

/// A 2-D convolution: x [batch, rows.input, columns.input, in_channels] NHWC,
/// filter [rows.window, columns.window, in_channels / groups, out_channels] HWIO,
/// y [batch, rows.output, columns.output, out_channels]. Each group of output channels sums over
/// the corresponding group of input channels.
struct ConvGeometry {
  std::int64_t batch = 0;
  std::int64_t in_channels = 0;
  std::int64_t out_channels = 0;
  WindowAxis rows;
  WindowAxis columns;
  std::int64_t groups = 1;
  bool channels_first = false;  ///< whether x and y are NCHW

  std::int64_t image_elements() const { return rows.input * columns.input * in_channels; }
  std::int64_t result_elements() const { return rows.output * columns.output * out_channels; }
  std::int64_t filter_elements() const {
    return rows.window * columns.window * (in_channels / groups) * out_channels;
  }
  /// Returns whether it is NHWC with one group and windows without gaps.
  bool is_plain() const {
    return groups == 1 && !channels_first && rows.dilation == 1 && columns.dilation == 1;
  }
};

/// A 2-D pooling of x [batch, rows.input, columns.input, channels].
struct PoolGeometry {
  std::int64_t batch = 0;
  std::int64_t channels = 0;
  WindowAxis rows;
  WindowAxis columns;

  std::int64_t image_elements() const { return rows.input * columns.input * channels; }
  std::int64_t result_elements() const { return rows.output * columns.output * channels; }
};

}  // namespace towerflow::types
