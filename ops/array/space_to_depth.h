#pragma once

#include <string>

#include "core/graph/operand.h"

namespace towerflow {

struct SpaceToDepthOptions {
  std::string name{};
  std::string data_format = "NHWC";  ///< or "NCHW"
};

/// Moves blocks of pixels to the channels: channel (r * b + s) * C + c of result (i, j) is channel
/// c of pixel (i * b + r, j * b + s).
///
/// shapes   input [N,H,W,C] -> [N,H / b,W / b,C * b * b]; or the same as NCHW
/// dtypes   all
/// grads    input: depth_to_space
/// errors   ValueError: rank, block_size < 2, sizes that are not multiples of it, unknown format
/// source   tf.space_to_depth
Tensor space_to_depth(const Operand& input, int block_size, SpaceToDepthOptions options = {},
                      Site site = Site::current());

/// The reverse: moves groups of channels to blocks of pixels.
///
/// shapes   input [N,H,W,C * b * b] -> [N,H * b,W * b,C]; or the same as NCHW
/// dtypes   all
/// grads    input: space_to_depth
/// errors   ValueError: rank, block_size < 2, channels that are not a multiple of its square,
///          unknown format
/// source   tf.depth_to_space
Tensor depth_to_space(const Operand& input, int block_size, SpaceToDepthOptions options = {},
                      Site site = Site::current());

}  // namespace towerflow
