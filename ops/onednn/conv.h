#pragma once

#include <memory>

#include "core/device/cpu/cpu_kernel.h"
#include "ops/window.h"

namespace towerflow::onednn {

/// Options that determine the bits of the results.
struct ConvOptions {
  bool bias = false;
  bool relu = false;  ///< only conv2d: relu(y); NaN stays NaN
  int slices = 2;     ///< number of slices of the batch, fewer if there are fewer images
};

/// y = conv2d(x, filter) [+ bias], then [relu]. Inputs {x, filter[, bias]}, output {y}, float32.
///
/// Each slice processes part of the batch. Filters up to 1 MiB are converted to the library's
/// layout by each slice separately, larger ones once in a phase of their own. Throws
/// InvalidArgumentError for a dimension beyond 2^31 - 1, InternalError or ResourceExhaustedError if
/// oneDNN fails.
std::unique_ptr<CpuKernel> make_conv2d(const ConvGeometry& geometry,
                                       const ConvOptions& options = {});

/// dx = conv2d_backprop_input(filter, dy). Inputs {filter, dy}, output {dx}. `options.bias` has no
/// effect.
std::unique_ptr<CpuKernel> make_conv2d_backprop_input(const ConvGeometry& geometry,
                                                      const ConvOptions& options = {});

/// dfilter = conv2d_backprop_filter(x, dy); with `options.bias` also dbias = sum of dy over all but
/// the last axis. Inputs {x, dy}, outputs {dfilter[, dbias]}.
///
/// Each slice of the batch computes a partial sum; they are added in slice order.
std::unique_ptr<CpuKernel> make_conv2d_backprop_filter(const ConvGeometry& geometry,
                                                       const ConvOptions& options = {});

}  // namespace towerflow::onednn
