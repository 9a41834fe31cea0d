#pragma once

#include <string>

#include "core/graph/operand.h"

namespace towerflow {

struct SegmentOptions {
  std::string name{};
};

/// Sums rows by id: row i of the result is the sum, in order, of the rows of `data` whose id is i.
/// Rows with a negative id are dropped.
///
/// shapes   data [n, d1, ..], segment_ids [n] (or any leading dimensions of data), num_segments []
///          -> [num_segments, d1, ..]
/// dtypes   data all numbers; ids int32, int64
/// grads    data: the rows of dy by id; segment_ids, num_segments: none
/// errors   ValueError: shapes that do not fit; at run time InvalidArgumentError: an id too large
/// source   tf.unsorted_segment_sum
Tensor unsorted_segment_sum(const Operand& data, const Operand& segment_ids,
                            const Operand& num_segments, SegmentOptions options = {},
                            Site site = Site::current());

}  // namespace towerflow
