#pragma once

#include <string>
#include <vector>

#include "core/graph/operand.h"
#include "ops/operand_list.h"

namespace towerflow {

struct DynamicPartitionOptions {
  std::string name{};
};

/// Divides the slices of `data` among `num_partitions` tensors by the numbers in `partitions`, in
/// their order.
///
/// shapes   data [p0, .., d0, ..], partitions [p0, ..] -> num_partitions times [n, d0, ..], each n
///          known only at run time
/// dtypes   data all; partitions int32
/// grads    data: the slices of dys, stitched; partitions: none
/// errors   ValueError: shapes that do not match, num_partitions < 1; at run time
///          InvalidArgumentError: a number not in [0, num_partitions)
/// source   tf.dynamic_partition
std::vector<Tensor> dynamic_partition(const Operand& data, const Operand& partitions,
                                      int num_partitions, DynamicPartitionOptions options = {},
                                      Site site = Site::current());

struct DynamicStitchOptions {
  std::string name{};
};

/// Puts the slices of several tensors at their indices: row indices[m][i] of the result is row i of
/// data[m]. Of slices with equal indices the last one wins; rows without an index are zero.
///
/// shapes   indices: each any shape s; data: each s + r -> [largest index + 1] + r
/// dtypes   indices int32; data all, the same for all
/// grads    data: dy gathered, also for slices that were overwritten; indices: none
/// errors   ValueError: no lists or different lengths, shapes that do not match; TypeError: dtypes;
///          at run time InvalidArgumentError: an index below 0
/// source   tf.dynamic_stitch
Tensor dynamic_stitch(const OperandList& indices, const OperandList& data,
                      DynamicStitchOptions options = {}, Site site = Site::current());

/// As `dynamic_stitch`, for indices that differ. (tf's parallel_dynamic_stitch)
Tensor parallel_dynamic_stitch(const OperandList& indices, const OperandList& data,
                               DynamicStitchOptions options = {}, Site site = Site::current());

}  // namespace towerflow
