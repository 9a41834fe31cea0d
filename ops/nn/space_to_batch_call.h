#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/operand.h"
#include "ops/nn/window_args.h"

namespace towerflow::nn {

/// An op that `with_space_to_batch` calls: of a tensor, the number of spatial dimensions, and the
/// padding that it must use.
using SpaceToBatchOp =
    std::function<Tensor(const Tensor& input, int num_spatial_dims, const WindowPadding& padding)>;

struct WithSpaceToBatchOptions {
  std::optional<Operand> filter_shape{};           ///< [m, ..]; required for SAME padding
  std::optional<std::vector<int>> spatial_dims{};  ///< default: those after the batch
  std::optional<std::string> data_format{};        ///< "NC.." if channels come before them
};

/// Dilates an op whose windows have no gaps: divides the input into blocks of `dilation_rate`,
/// calls `op` on the blocks with VALID padding and joins its results. If all rates are 1, only
/// calls `op`.
///
/// shapes   input [N, d1 .. dm, ..], dilation_rate [m]
/// dtypes   those of `op`
/// grads    those of the ops it consists of
/// errors   ValueError: rates < 1, spatial_dims that do not increase, an input of a lower rank,
///          SAME padding without filter_shape
/// source   tf.nn.with_space_to_batch
Tensor with_space_to_batch(const Operand& input, const std::vector<int>& dilation_rate,
                           const WindowPadding& padding, const SpaceToBatchOp& op,
                           WithSpaceToBatchOptions options = {}, Site site = Site::current());

}  // namespace towerflow::nn
