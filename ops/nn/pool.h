#pragma once

#include <string>
#include <string_view>

#include "core/graph/operand.h"
#include "ops/nn/window_args.h"

namespace towerflow::nn {

struct PoolOptions {
  std::string data_format = "NHWC";  ///< or "NCHW"
  std::string name{};
};

/// Returns the maximum of each window.
///
/// shapes   value [N,H,W,C] -> [N,P,Q,C]; SAME: P = ceil(H / sh);
///          VALID: P = ceil((H - kh + 1) / sh); numbers: VALID of the padded image
/// dtypes   real numbers (float32 simd, others reference); NaN never wins
/// grads    value: dy goes to the first largest element of its window; a second one unless the
///          padding is given in numbers
/// errors   ValueError: rank, window or stride < 1, a VALID window larger than the image, windows
///          over batch or channels, unknown padding or format
/// source   tf.nn.max_pool
Tensor max_pool(const Operand& value, const Extents& ksize, const Extents& strides,
                const WindowPadding& padding, PoolOptions options = {},
                Site site = Site::current());

/// Returns the mean of each window; only elements inside the image count.
///
/// shapes   as max_pool
/// dtypes   float32, float64
/// grads    value: dy spread evenly over its window
/// errors   as max_pool
/// source   tf.nn.avg_pool
Tensor avg_pool(const Operand& value, const Extents& ksize, const Extents& strides,
                std::string_view padding, PoolOptions options = {}, Site site = Site::current());

}  // namespace towerflow::nn
