#pragma once

#include <optional>
#include <string>

#include "core/graph/operand.h"

namespace towerflow {

struct SequenceMaskOptions {
  ByName by_name = ByName();
  DType dtype = DType::bool_;  ///< of the result
  std::string name{};
};

/// Returns for each length a row that is true in its first `length` places.
///
/// shapes   lengths [..], maxlen [] -> [.., maxlen]
/// dtypes   lengths and maxlen int32, int64; the result any number or bool
/// grads    none: comparisons of integers
/// errors   ValueError: maxlen is not a scalar
/// source   tf.sequence_mask
Tensor sequence_mask(const Operand& lengths, const ScalarOperand& maxlen,
                     SequenceMaskOptions options = {}, Site site = Site::current());
/// With the largest length as `maxlen`.
Tensor sequence_mask(const Operand& lengths, SequenceMaskOptions options = {},
                     Site site = Site::current());

struct ReverseSequenceOptions {
  std::optional<int> seq_axis{};  ///< the dimension that is reversed; required
  int batch_axis = 0;             ///< the dimension of the lengths
  std::string name{};
};

/// Reverses the first seq_lengths[i] elements along `seq_axis` of part i of `batch_axis`.
///
/// shapes   input [..], seq_lengths [n], n the size of batch_axis -> as input
/// dtypes   input all; seq_lengths int32, int64
/// grads    input: dy reversed in the same way; seq_lengths: none
/// errors   TypeError: no seq_axis; ValueError: an axis out of range, shapes that do not match; at
///          run time InvalidArgumentError: a length below 0 or above the size of seq_axis
/// source   tf.reverse_sequence
Tensor reverse_sequence(const Operand& input, const Operand& seq_lengths,
                        ReverseSequenceOptions options, Site site = Site::current());

}  // namespace towerflow
