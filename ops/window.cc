#include "ops/window.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/graph/error.h"

namespace towerflow {

WindowAxis window_axis(std::int64_t input, std::int64_t window, std::int64_t stride,
                       Padding padding, std::int64_t dilation, AxisPadding numbers) {
  if (input < 0 || window < 1 || stride < 1 || dilation < 1)
    throw ValueError(
        fmt::format("Window {} with stride {} and dilation {} over {} elements: window, "
                    "stride and dilation must be at least 1.",
                    window, stride, dilation, input));
  WindowAxis axis{.input = input, .window = window, .stride = stride, .dilation = dilation};
  std::int64_t span = 0, padded = 0;
  bool overflows =
      __builtin_mul_overflow(window - 1, dilation, &span) || __builtin_add_overflow(span, 1, &span);
  if (padding == Padding::explicit_numbers) {
    if (numbers.before < 0 || numbers.after < 0)
      throw ValueError(fmt::format("The padding must not be negative: {} before and {} after.",
                                   numbers.before, numbers.after));
    axis.pad_before = numbers.before;
    axis.pad_after = numbers.after;
  }
  overflows = overflows || __builtin_add_overflow(input, axis.pad_before, &padded) ||
              __builtin_add_overflow(padded, axis.pad_after, &padded);
  if (overflows) {
    throw ValueError(
        fmt::format("Window {} with dilation {} over {} elements, padded by {} and {}: too large.",
                    window, dilation, input, axis.pad_before, axis.pad_after));
  }
  if (padding != Padding::same) {
    if (padded < span)
      throw ValueError(fmt::format("Window {} does not fit into {} elements with {} padding.", span,
                                   padded, padding == Padding::valid ? "VALID" : "explicit"),
                       {.hint = "Use SAME padding or a smaller window."});
    axis.output = (padded - span) / stride + 1;
    return axis;
  }
  axis.output = input / stride + (input % stride != 0 ? 1 : 0);
  if (axis.output == 0) return axis;
  // The last window starts at (output - 1) * stride, which is below `input`.
  const std::int64_t start = (axis.output - 1) * stride;
  const std::int64_t added = std::max<std::int64_t>(span - (input - start), 0);
  axis.pad_before = added / 2;
  axis.pad_after = added - added / 2;
  return axis;
}

}  // namespace towerflow
