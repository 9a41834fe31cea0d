#pragma once

#include <optional>
#include <string>

#include "core/graph/operand.h"

namespace towerflow::nn::types {

/// The normalized tensor, and the statistics that a program keeps for inference.
struct FusedBatchNorm {
  Tensor y;
  Tensor running_mean;
  Tensor running_var;
};

}  // namespace towerflow::nn::types

namespace towerflow::nn {

struct FusedBatchNormOptions {
  std::optional<Operand> mean{};      ///< running mean; required unless a whole batch sets it
  std::optional<Operand> variance{};  ///< running variance; likewise
  float epsilon = 0.001F;
  std::string data_format = "NHWC";  ///< or "NCHW", "NDHWC", "NCDHW"
  bool is_training = true;           ///< whether to normalize with the moments of the batch
  std::string name{};
  /// Weight of the batch in the running statistics: mean = (1 - f) * mean + f * batch mean.
  float exponential_avg_factor = 1;
};

/// Batch normalization in one op: y = scale * (x - m) / sqrt(v + epsilon) + offset for each
/// channel.
///
/// When training, m and v are the mean and the variance of the batch; the running statistics that
/// it returns take the variance times n / (n - 1), where n is the number of elements of a channel.
/// Otherwise m and v are `mean` and `variance`, which it returns.
///
/// shapes   x [N,H,W,C] (or another format of rank 4 or 5); scale, offset, mean, variance [C]
///          -> y as x, statistics [C]
/// dtypes   float32 (simd), float64 (reference, which TensorFlow lacks), all the same
/// grads    x, scale, offset; twice. None for mean and variance: those of the running statistics
///          are ignored
/// errors   ValueError: ranks, channels that differ, no `mean` or `variance` though they are read,
///          unknown format; TypeError: another dtype; InvalidArgumentError at run time: running
///          statistics that do not have C elements
/// source   tf.nn.fused_batch_norm
FusedBatchNorm fused_batch_norm(const Operand& x, const Operand& scale, const Operand& offset,
                                FusedBatchNormOptions options = {}, Site site = Site::current());

}  // namespace towerflow::nn
