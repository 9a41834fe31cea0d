#pragma once

#include <memory>

#include "core/device/cpu/cpu_kernel.h"
#include "ops/window.h"

/// CPU kernels made of the project's own loops, float32 unless stated otherwise.
///
/// Slices are images for pooling and sums over images, else elements or rows.
namespace towerflow::simd {

struct PoolOptions {
  bool after_relu = false;    ///< pool relu(x); the gradient goes back through the relu too
  bool channel_sums = false;  ///< only gradient: second output, the sum of dx over all but channels
  int slices = 2;             ///< number of slices of the batch, fewer if there are fewer images
};

/// y = max_pool([relu](x)). Inputs {x}, outputs {y}. See Loops::max_pool for ties and NaN.
std::unique_ptr<CpuKernel> make_max_pool(const PoolGeometry& geometry,
                                         const PoolOptions& options = {});

/// The gradient of max_pool. Inputs {x, dy}, outputs {dx[, channel sums of dx]}. With `after_relu`,
/// x may be the relu's input or its output. The sums are bitwise those of `make_channel_sums` of
/// dx.
std::unique_ptr<CpuKernel> make_max_pool_grad(const PoolGeometry& geometry,
                                              const PoolOptions& options = {});

/// sums[c] = sum over images and positions of x [images, positions, channels]; the gradient of a
/// bias. Inputs {x}, outputs {sums}. Each slice sums some of the images; they are added in slice
/// order.
std::unique_ptr<CpuKernel> make_channel_sums(std::int64_t images, std::int64_t positions,
                                             std::int64_t channels, int slices = 2);

/// Options that determine the bits of the results.
struct WinogradOptions {
  bool bias = false;  ///< only conv2d
  bool relu = false;  ///< only conv2d: relu(y); NaN stays NaN
  int slices = 4;     ///< number of slices of the batch, fewer if there are fewer images
};

/// Returns whether the three kernels below accept a convolution on this processor: stride 1,
/// windows of 3 x 3 or 5 x 5, channels in multiples of 16, at least one image. See
/// ops/simd/winograd_loops.h for the rounding error. A value that is not finite makes all results
/// of its tile NaN or infinite, not only those whose window contains it.
bool winograd_takes(const ConvGeometry& geometry);

/// y = conv2d(x, filter) [+ bias], then [relu]. Inputs {x, filter[, bias]}, output {y}.
std::unique_ptr<CpuKernel> make_winograd_conv2d(const ConvGeometry& geometry,
                                                const WinogradOptions& options = {});

/// dx = conv2d_backprop_input(filter, dy). Inputs {filter, dy}, output {dx}.
std::unique_ptr<CpuKernel> make_winograd_conv2d_backprop_input(const ConvGeometry& geometry,
                                                               const WinogradOptions& options = {});

/// dfilter = conv2d_backprop_filter(x, dy). Inputs {x, dy}, output {dfilter}. The sums of the
/// slices of the batch are added in slice order.
std::unique_ptr<CpuKernel> make_winograd_conv2d_backprop_filter(
    const ConvGeometry& geometry, const WinogradOptions& options = {});

/// out = sum of x, divided by n if `mean` (NaN for n = 0). Inputs {x}, outputs {scalar}.
std::unique_ptr<CpuKernel> make_sum(std::int64_t n, bool mean = false);

/// Cross entropy of softmax(logits [rows, classes]) with `labels` [rows], int64 or int32. Inputs
/// {logits, labels}, outputs {loss [rows], dlogits}; dlogits is the gradient of sum(loss) and may
/// be the logits. `run` throws InvalidArgumentError for a label outside 0 .. classes - 1.
std::unique_ptr<CpuKernel> make_sparse_softmax_xent(std::int64_t rows, std::int64_t classes,
                                                    bool int32_labels = false);

}  // namespace towerflow::simd
