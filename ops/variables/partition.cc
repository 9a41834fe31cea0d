#include "ops/variables/partition.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "core/graph/error.h"

namespace towerflow {
namespace {

double element_size(DType dtype, std::int64_t bytes_per_string_element) {
  return static_cast<double>(dtype == DType::string ? bytes_per_string_element
                                                    : static_cast<std::int64_t>(dtype_size(dtype)));
}

/// Returns the partition list with `parts` parts along `axis` and one along each other axis. A
/// negative axis counts from the end.
std::vector<int> partitions_along_axis(const Shape& shape, int axis, double parts) {
  const int rank = static_cast<int>(shape.rank());
  if (axis >= rank || axis < -rank) {
    throw ValueError(fmt::format("Cannot partition variable along axis {} when shape is only {}",
                                 axis, shape.text()));
  }
  std::vector<int> partitions(shape.rank(), 1);
  partitions[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)] = static_cast<int>(parts);
  return partitions;
}

double size_along(const Shape& shape, int axis) {
  const auto rank = static_cast<int>(shape.rank());
  if (axis >= rank || axis < -rank) return 1;  // `partitions_along_axis` throws
  return static_cast<double>(shape.size(static_cast<std::size_t>(axis < 0 ? axis + rank : axis)));
}

}  // namespace

Partitioner fixed_size_partitioner(int num_shards, int axis) {
  return [=](const Shape& shape, DType) {
    return partitions_along_axis(shape, axis,
                                 std::min<double>(num_shards, size_along(shape, axis)));
  };
}

Partitioner variable_axis_size_partitioner(std::int64_t max_shard_bytes,
                                           AxisSizePartitionerOptions options) {
  if (max_shard_bytes < 1 || options.bytes_per_string_element < 1) {
    throw ValueError(
        fmt::format("Both max_shard_bytes and bytes_per_string_element must be positive. "
                    "Currently, max_shard_bytes is {} and bytes_per_string_element is {}",
                    max_shard_bytes, options.bytes_per_string_element));
  }
  if (options.max_shards && *options.max_shards < 0) {
    throw ValueError("max_shards must be positive.");
  }
  return [=](const Shape& shape, DType dtype) {
    const double rows = size_along(shape, options.axis);
    const double row_bytes = static_cast<double>(shape.elements()) / rows *
                             element_size(dtype, options.bytes_per_string_element);
    const double rows_per_shard =
        std::max(1.0, std::floor(static_cast<double>(max_shard_bytes) / row_bytes));
    double shards = std::ceil(rows / rows_per_shard);
    if (options.max_shards.value_or(0) > 0) shards = std::min<double>(*options.max_shards, shards);
    return partitions_along_axis(shape, options.axis, shards);
  };
}

Partitioner min_max_variable_partitioner(MinMaxPartitionerOptions options) {
  return [=](const Shape& shape, DType dtype) {
    const double bytes = static_cast<double>(shape.elements()) *
                         element_size(dtype, options.bytes_per_string_element);
    const double wanted = std::ceil(bytes / static_cast<double>(options.min_slice_size));
    const double most = std::min<double>(size_along(shape, options.axis), options.max_partitions);
    return partitions_along_axis(shape, options.axis, std::max(1.0, std::min(most, wanted)));
  };
}

std::vector<PartSlice> part_slices(const Shape& shape, const std::vector<int>& partitions) {
  if (partitions.size() != shape.rank()) {
    throw ValueError(
        fmt::format("Partitioner returned a partition list that does not match the "
                    "Variable's rank: [{}] vs. {}",
                    fmt::join(partitions, ", "), shape.text()));
  }
  if (std::any_of(partitions.begin(), partitions.end(), [](int parts) { return parts < 1; })) {
    throw ValueError(fmt::format("Partitioner returned zero partitions for some axes: [{}]",
                                 fmt::join(partitions, ", ")));
  }
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    if (shape.size(i) > 0) continue;
    throw ValueError(
        fmt::format("A variable of the shape {} cannot be partitioned: dimension {} is empty",
                    shape.text(), i));
  }
  const auto is_partitioned = [](int parts) { return parts > 1; };
  if (std::count_if(partitions.begin(), partitions.end(), is_partitioned) > 1) {
    throw ValueError(
        fmt::format("Can only slice a variable along one dimension: shape: {}, "
                    "partitioning: [{}]",
                    shape.text(), fmt::join(partitions, ", ")));
  }
  const auto found = std::find_if(partitions.begin(), partitions.end(), is_partitioned);
  const auto axis =
      found == partitions.end() ? 0 : static_cast<std::size_t>(found - partitions.begin());
  const std::int64_t parts = partitions[axis], rows = shape.size(axis);
  std::vector<PartSlice> slices;
  std::vector<std::int64_t> offset(shape.rank(), 0);
  for (std::int64_t i = 0; i < parts; ++i) {
    std::vector<Dim> dims = shape.dims();
    dims[axis] = rows / parts + (i < rows % parts ? 1 : 0);
    slices.push_back({offset, Shape(dims)});
    offset[axis] += dims[axis].size();
  }
  return slices;
}

}  // namespace towerflow
