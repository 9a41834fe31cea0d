#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "core/graph/dtype.h"
#include "core/graph/shape.h"

namespace towerflow::types {

/// One part of a partitioned variable. (tf.Variable.SaveSliceInfo)
struct PartSlice {
  std::vector<std::int64_t> offset;
  Shape shape;
};

}  // namespace towerflow::types

namespace towerflow {

/// Returns into how many parts each dimension of a variable is divided; only one dimension may have
/// more than one part. (the `partitioner` of tf.get_variable)
using Partitioner = std::function<std::vector<int>(const Shape& shape, DType dtype)>;

/// Divides `axis` into `num_shards` parts, or into one per row if there are fewer rows.
/// (tf.fixed_size_partitioner)
Partitioner fixed_size_partitioner(int num_shards, int axis = 0);

struct AxisSizePartitionerOptions {
  int axis = 0;
  std::int64_t bytes_per_string_element = 16;
  std::optional<int> max_shards{};
};

/// Divides an axis into parts of at most `max_shard_bytes`, if rows are no larger than that. Throws
/// ValueError for sizes that are not positive. (tf.variable_axis_size_partitioner)
Partitioner variable_axis_size_partitioner(std::int64_t max_shard_bytes,
                                           AxisSizePartitionerOptions options = {});

struct MinMaxPartitionerOptions {
  int max_partitions = 1;
  int axis = 0;
  std::int64_t min_slice_size = 256 << 10;  ///< bytes
  std::int64_t bytes_per_string_element = 16;
};

/// Divides an axis into one part per `min_slice_size` bytes, rounded up, but at most into
/// `max_partitions` parts and one per row. (tf.min_max_variable_partitioner)
Partitioner min_max_variable_partitioner(MinMaxPartitionerOptions options = {});

/// Returns the slices into which `partitions` divides `shape`. The first slices are larger if a
/// size is not divisible. Throws ValueError for a list that does not match the shape.
std::vector<PartSlice> part_slices(const Shape& shape, const std::vector<int>& partitions);

}  // namespace towerflow
