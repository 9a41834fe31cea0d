#pragma once

#include <memory>

#include "core/device/cpu/cpu_kernel.h"
#include "ops/window.h"

namespace towerflow::onednn {

/// Choices that are part of a result's bits.
struct ConvOptions {
  bool bias = false;
  bool relu = false;  ///< conv2d alone: relu(y); NaN stays NaN
  int slices = 2;     ///< of the batch; fewer when there are fewer images
};

/// y = conv2d(x, filter) [+ bias], then [relu]. Inputs {x, filter[, bias]}, output {y}, float32.
///
/// One slice of the batch each. Filters up to 1 MiB are brought into the library's layout by each
/// slice for itself, larger ones once in a phase of their own.
/// Throws InvalidArgumentError for a dimension beyond 2^31 - 1, InternalError when oneDNN refuses.
std::unique_ptr<CpuKernel> make_conv2d(const ConvGeometry& geometry,
                                       const ConvOptions& options = {});

/// dx = conv2d_backprop_input(filter, dy). Inputs {filter, dy}, output {dx}; `options.bias` is of
/// no meaning.
std::unique_ptr<CpuKernel> make_conv2d_backprop_input(const ConvGeometry& geometry,
                                                      const ConvOptions& options = {});

/// dfilter = conv2d_backprop_filter(x, dy); with `options.bias` also dbias = sum of dy over all but
/// the last axis. Inputs {x, dy}, outputs {dfilter[, dbias]}.
///
/// Each slice of the batch makes a partial sum, and they are added in slice order.
std::unique_ptr<CpuKernel> make_conv2d_backprop_filter(const ConvGeometry& geometry,
                                                       const ConvOptions& options = {});

}  // namespace towerflow::onednn
