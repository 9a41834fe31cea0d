#pragma once

#include <memory>

#include "core/device/cpu/cpu_kernel.h"
#include "ops/window.h"

/// CPU kernels made of the project's own loops, float32 unless said otherwise.
///
/// Slices: images for pooling and sums over images, elements or rows for the rest.
namespace towerflow::simd {

struct PoolOptions {
  bool after_relu = false;  ///< pool relu(x), and for the gradient go back through the relu too
  bool channel_sums =
      false;       ///< gradient alone: second output, the sum of dx over all but channels
  int slices = 2;  ///< of the batch; fewer when there are fewer images
};

/// y = max_pool([relu](x)). Inputs {x}, outputs {y}. See Loops::max_pool for ties and NaN.
std::unique_ptr<CpuKernel> make_max_pool(const PoolGeometry& geometry,
                                         const PoolOptions& options = {});

/// The gradient of max_pool. Inputs {x, dy}, outputs {dx[, channel sums of dx]}. With `after_relu`
/// x may be either side of the relu. The sums have the bits of `make_channel_sums` of dx.
std::unique_ptr<CpuKernel> make_max_pool_grad(const PoolGeometry& geometry,
                                              const PoolOptions& options = {});

/// sums[c] = sum over images and positions of x [images, positions, channels]; the gradient of a
/// bias. Inputs {x}, outputs {sums}. Slices of images, added in slice order.
std::unique_ptr<CpuKernel> make_channel_sums(std::int64_t images, std::int64_t positions,
                                             std::int64_t channels, int slices = 2);

/// Choices that are part of a result's bits.
struct WinogradOptions {
  bool bias = false;  ///< conv2d alone
  bool relu = false;  ///< conv2d alone: relu(y); NaN stays NaN
  int slices = 4;     ///< of the batch; fewer when there are fewer images
};

/// Whether the three kernels below take a convolution on this processor: stride 1, windows of 3 x 3
/// or 5 x 5, channels in sixteens, some image. See ops/simd/winograd_loops.h for what they round.
/// A value that is not finite makes all results of its tile NaN or infinite, not only those whose
/// window it lies in.
bool winograd_takes(const ConvGeometry& geometry);

/// y = conv2d(x, filter) [+ bias], then [relu]. Inputs {x, filter[, bias]}, output {y}.
std::unique_ptr<CpuKernel> make_winograd_conv2d(const ConvGeometry& geometry,
                                                const WinogradOptions& options = {});

/// dx = conv2d_backprop_input(filter, dy). Inputs {filter, dy}, output {dx}.
std::unique_ptr<CpuKernel> make_winograd_conv2d_backprop_input(const ConvGeometry& geometry,
                                                               const WinogradOptions& options = {});

/// dfilter = conv2d_backprop_filter(x, dy). Inputs {x, dy}, output {dfilter}. Slices of the batch
/// are added in slice order.
std::unique_ptr<CpuKernel> make_winograd_conv2d_backprop_filter(
    const ConvGeometry& geometry, const WinogradOptions& options = {});

/// out = sum of x, divided by n when `mean` (NaN for n = 0). Inputs {x}, outputs {scalar}.
std::unique_ptr<CpuKernel> make_sum(std::int64_t n, bool mean = false);

/// Cross entropy of softmax(logits [rows, classes]) with `labels` [rows], int64 or int32. Inputs
/// {logits, labels}, outputs {loss [rows], dlogits}; dlogits is the gradient of sum(loss) and may
/// be the logits. `run` throws InvalidArgumentError for a label outside 0 .. classes - 1.
std::unique_ptr<CpuKernel> make_sparse_softmax_xent(std::int64_t rows, std::int64_t classes,
                                                    bool int32_labels = false);

}  // namespace towerflow::simd
