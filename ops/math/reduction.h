#pragma once

#include <memory>
#include <vector>

#include "ops/kernel_dims.h"

namespace towerflow {

enum class Reduction { sum, mean, prod, max, min, all, any };

/// A reduction over the axes that are the value of input 1 of `request`.
/// Throws InvalidArgumentError for one that is out of range or given twice.
std::unique_ptr<PreparedKernel> reduction_kernel(Reduction reduction, const KernelRequest& request);

/// A reduction over axes known now, `reduced[axis]`.
std::unique_ptr<PreparedKernel> fixed_reduction_kernel(Reduction reduction,
                                                       const KernelRequest& request,
                                                       std::vector<bool> reduced);

/// Which axes of `whole` a tensor of shape `part` is repeated along when it is broadcast to it.
std::vector<bool> repeated_axes(const Shape& whole, const Shape& part);

/// Axes from an int32 or int64 vector or scalar as flags; duplicates count once.
/// Throws InvalidArgumentError for one that is out of range.
std::vector<bool> axis_flags(const std::vector<std::int64_t>& axes, std::size_t rank);

}  // namespace towerflow
