#pragma once

#include <memory>
#include <vector>

#include "ops/kernel_dims.h"

namespace towerflow {

enum class Reduction { sum, mean, prod, max, min, all, any };

/// Returns a kernel that reduces over the axes given by the value of input 1 of `request`. Throws
/// InvalidArgumentError if an axis is out of range or given twice.
std::unique_ptr<PreparedKernel> reduction_kernel(Reduction reduction, const KernelRequest& request);

/// Returns a kernel that reduces over every axis with `reduced[axis]`.
std::unique_ptr<PreparedKernel> fixed_reduction_kernel(Reduction reduction,
                                                       const KernelRequest& request,
                                                       std::vector<bool> reduced);

/// Returns for each axis of `whole` whether a tensor of shape `part` is repeated along it by a
/// broadcast to `whole`.
std::vector<bool> repeated_axes(const Shape& whole, const Shape& part);

/// Converts axes to one flag per dimension; duplicates count once. Throws InvalidArgumentError if
/// an axis is out of range.
std::vector<bool> axis_flags(const std::vector<std::int64_t>& axes, std::size_t rank);

}  // namespace towerflow
