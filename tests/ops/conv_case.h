#pragma once

#include <cstdint>
#include <string>

#include "ops/window.h"

namespace towerflow::testing {

/// A convolution on which several kernels are tested.
struct ConvCase {
  std::int64_t batch, size, channels, filters, window, stride;
  Padding padding;
};

inline ConvGeometry geometry_of(const ConvCase& c) {
  // Height and width differ, so that confusing them is noticed.
  return {.batch = c.batch,
          .in_channels = c.channels,
          .out_channels = c.filters,
          .rows = window_axis(c.size, c.window, c.stride, c.padding),
          .columns = window_axis(c.size + 3, c.window, c.stride, c.padding)};
}

inline std::string describe(const ConvCase& c) {
  return std::to_string(c.batch) + "x" + std::to_string(c.size) + "x" + std::to_string(c.channels) +
         " window " + std::to_string(c.window) + " stride " + std::to_string(c.stride) + " to " +
         std::to_string(c.filters) + (c.padding == Padding::same ? " SAME" : " VALID");
}

}  // namespace towerflow::testing
