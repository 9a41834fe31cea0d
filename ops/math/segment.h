#pragma once

#include <string>

#include "core/graph/operand.h"

namespace towerflow {

struct SegmentOptions {
  std::string name{};
};

/// Combines rows by id, in order: row i of the result is made of the rows of `data` whose id is i.
/// Rows with a negative id are dropped.
///
/// shapes   data [n, d1, ..], segment_ids [n] (or any leading dimensions of data), num_segments []
///          -> [num_segments, d1, ..]
/// dtypes   data all numbers, for mean and sqrt_n floating; ids int32, int64
/// grads    data: the rows of dy by id (for max and min in equal shares among the elements that
///          equal the result, for prod times the others); segment_ids, num_segments: none
/// errors   ValueError: shapes that do not fit; at run time InvalidArgumentError: an id too large
/// source   tf.unsorted_segment_sum
///
/// A segment without rows is 0 for sum, mean and sqrt_n, 1 for prod, the lowest finite number for
/// max and the highest for min.
Tensor unsorted_segment_sum(const Operand& data, const Operand& segment_ids,
                            const Operand& num_segments, SegmentOptions options = {},
                            Site site = Site::current());
Tensor unsorted_segment_prod(const Operand& data, const Operand& segment_ids,
                             const Operand& num_segments, SegmentOptions options = {},
                             Site site = Site::current());
Tensor unsorted_segment_max(const Operand& data, const Operand& segment_ids,
                            const Operand& num_segments, SegmentOptions options = {},
                            Site site = Site::current());
Tensor unsorted_segment_min(const Operand& data, const Operand& segment_ids,
                            const Operand& num_segments, SegmentOptions options = {},
                            Site site = Site::current());
/// The sum divided by the number of rows.
Tensor unsorted_segment_mean(const Operand& data, const Operand& segment_ids,
                             const Operand& num_segments, SegmentOptions options = {},
                             Site site = Site::current());
/// The sum divided by the square root of the number of rows.
Tensor unsorted_segment_sqrt_n(const Operand& data, const Operand& segment_ids,
                               const Operand& num_segments, SegmentOptions options = {},
                               Site site = Site::current());

/// Combines rows by id as above, for ids that do not decrease.
///
/// shapes   data [n, d1, ..], segment_ids [n] -> [last id + 1, d1, ..], known only at run time
/// dtypes   data all numbers; ids int32, int64
/// grads    data: as above; segment_ids: none
/// errors   ValueError: ids that are no vector; at run time InvalidArgumentError: ids that
/// decrease,
///          are negative or do not fit the data
/// source   tf.segment_sum
///
/// A segment without rows is 1 for prod and 0 for the others. The mean of integers is truncated.
Tensor segment_sum(const Operand& data, const Operand& segment_ids, SegmentOptions options = {},
                   Site site = Site::current());
Tensor segment_mean(const Operand& data, const Operand& segment_ids, SegmentOptions options = {},
                    Site site = Site::current());
Tensor segment_prod(const Operand& data, const Operand& segment_ids, SegmentOptions options = {},
                    Site site = Site::current());
Tensor segment_max(const Operand& data, const Operand& segment_ids, SegmentOptions options = {},
                   Site site = Site::current());
Tensor segment_min(const Operand& data, const Operand& segment_ids, SegmentOptions options = {},
                   Site site = Site::current());

}  // namespace towerflow
