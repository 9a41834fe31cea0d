#include "ops/window.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/graph/error.h"

namespace towerflow {

WindowAxis window_axis(std::int64_t input, std::int64_t window, std::int64_t stride,
                       Padding padding) {
  if (input < 0 || window < 1 || stride < 1)
    throw ValueError(fmt::format(
        "Window {} with stride {} over {} elements: window and stride must be at least 1.", window,
        stride, input));
  WindowAxis axis{.input = input, .window = window, .stride = stride};
  if (padding == Padding::valid) {
    if (input < window)
      throw ValueError(
          fmt::format("Window {} does not fit into {} elements with VALID padding.", window, input),
          {.hint = "Use SAME padding or a smaller window."});
    axis.output = (input - window) / stride + 1;
    return axis;
  }
  axis.output = input / stride + (input % stride != 0 ? 1 : 0);
  if (axis.output == 0) return axis;
  // The last window starts at (output - 1) * stride, which is below `input`.
  const std::int64_t start = (axis.output - 1) * stride;
  const std::int64_t padded = std::max<std::int64_t>(window - (input - start), 0);
  axis.pad_before = padded / 2;
  axis.pad_after = padded - padded / 2;
  return axis;
}

}  // namespace towerflow
