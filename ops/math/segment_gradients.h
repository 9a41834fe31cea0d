#pragma once

#include <vector>

#include "core/graph/op_gradient.h"

namespace towerflow {

/// Gradients of the combinations of rows by id, in ops/math/segment_gradients.cc. For the unsorted
/// ones, rows with a negative id get zeros.
using SegmentGradients = std::vector<OptionalGradient>;

SegmentGradients unsorted_segment_sum_gradient(const Operation& op, const SegmentGradients& dys);
SegmentGradients unsorted_segment_prod_gradient(const Operation& op, const SegmentGradients& dys);
SegmentGradients unsorted_segment_extreme_gradient(const Operation& op,
                                                   const SegmentGradients& dys);
SegmentGradients segment_sum_gradient(const Operation& op, const SegmentGradients& dys);
SegmentGradients segment_mean_gradient(const Operation& op, const SegmentGradients& dys);
SegmentGradients segment_prod_gradient(const Operation& op, const SegmentGradients& dys);
SegmentGradients segment_extreme_gradient(const Operation& op, const SegmentGradients& dys);

}  // namespace towerflow
