#pragma once

#include <memory>

#include "core/device/cpu/cpu_kernel.h"
#include "ops/window.h"

/// CPU kernels made of the project's own loops, float32 unless said otherwise.
///
/// Slices: images for pooling and sums over images, elements or rows for the rest, where fewer than
/// 32,768 elements stay one slice and there are 8 at most.
namespace towerflow::simd {

/// Slices that an elementwise pass over `elements` elements is cut into.
int elementwise_slices(std::int64_t elements);

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

/// out = sum of x, divided by n when `mean` (NaN for n = 0). Inputs {x}, outputs {scalar}.
std::unique_ptr<CpuKernel> make_sum(std::int64_t n, bool mean = false);

/// Cross entropy of softmax(logits [rows, classes]) with `labels` [rows], int64 or int32. Inputs
/// {logits, labels}, outputs {loss [rows], dlogits}; dlogits is the gradient of sum(loss) and may
/// be the logits. `run` throws InvalidArgumentError for a label outside 0 .. classes - 1.
std::unique_ptr<CpuKernel> make_sparse_softmax_xent(std::int64_t rows, std::int64_t classes,
                                                    bool int32_labels = false);

}  // namespace towerflow::simd
