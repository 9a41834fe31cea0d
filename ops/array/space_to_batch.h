#pragma once

#include <string>

#include "core/graph/operand.h"

namespace towerflow::types {

/// The paddings and crops of `required_space_to_batch_paddings`.
struct SpaceToBatchPaddings {
  Tensor paddings;
  Tensor crops;
};

}  // namespace towerflow::types

namespace towerflow {

struct SpaceToBatchOptions {
  std::string name{};
};

/// Pads the dimensions after the first, divides them into blocks and moves the positions inside a
/// block to the batch: result (o * N + n, i) is element (n, i * block + o) of the padded tensor.
///
/// shapes   input [N, d1 .. dm, ..], block_shape [m], paddings [m,2]
///          -> [N * prod(block), (d1 + p10 + p11) / b1, .., ..]
/// dtypes   all; block_shape, paddings int32 or int64
/// grads    input: batch_to_space_nd; the others: none
/// errors   ValueError: ranks, a block < 1, a negative padding, a padded size that is not a
///          multiple of the block; at run time, for values found there: InvalidArgumentError
/// source   tf.space_to_batch_nd
Tensor space_to_batch_nd(const Operand& input, const Operand& block_shape, const Operand& paddings,
                         SpaceToBatchOptions options = {}, Site site = Site::current());

/// The reverse: interleaves parts of the batch in blocks, then removes `crops` elements at the
/// borders.
///
/// shapes   input [N * prod(block), d1 .. dm, ..], block_shape [m], crops [m,2]
///          -> [N, d1 * b1 - c10 - c11, .., ..]
/// dtypes   as space_to_batch_nd
/// grads    input: space_to_batch_nd; the others: none
/// errors   as space_to_batch_nd; a batch that is not a multiple of the blocks
/// source   tf.batch_to_space_nd
Tensor batch_to_space_nd(const Operand& input, const Operand& block_shape, const Operand& crops,
                         SpaceToBatchOptions options = {}, Site site = Site::current());

/// space_to_batch_nd of images [N,H,W,C] in square blocks.
///
/// source   tf.space_to_batch
Tensor space_to_batch(const Operand& input, const Operand& paddings, int block_size,
                      SpaceToBatchOptions options = {}, Site site = Site::current());

/// batch_to_space_nd of images [N,H,W,C] in square blocks.
///
/// source   tf.batch_to_space
Tensor batch_to_space(const Operand& input, const Operand& crops, int block_size,
                      SpaceToBatchOptions options = {}, Site site = Site::current());

/// Returns the paddings [m,2] for which space_to_batch_nd accepts a tensor: `base_paddings`, with
/// more elements at the end until the blocks fit, and the crops [m,2] that remove the latter again.
///
/// shapes   input_shape [m], block_shape [m], base_paddings [m,2]
/// dtypes   int32
/// grads    none: they are integers
/// errors   ValueError: block_shape without a known length
/// source   tf.required_space_to_batch_paddings
SpaceToBatchPaddings required_space_to_batch_paddings(const Operand& input_shape,
                                                      const Operand& block_shape,
                                                      const Operand& base_paddings,
                                                      SpaceToBatchOptions options = {},
                                                      Site site = Site::current());

}  // namespace towerflow
