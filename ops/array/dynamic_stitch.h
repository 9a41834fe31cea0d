#pragma once

#include "core/device/backend.h"
#include "core/graph/op_def.h"

namespace towerflow {

/// Op DynamicStitch: rows of several tensors, each put where its index says; where two have the
/// same index the later one counts, and a row that nobody names is zero. Graphs that come from
/// TensorFlow have it in the gradients of reductions.
///
/// shapes   indices: each any shape s, int32; data: each s + r -> [largest index + 1] + r
/// grads    data: the rows of the gradient, also of those that did not count
/// errors   InvalidArgumentError in a run with an index below 0
/// source   tf.dynamic_stitch
void register_dynamic_stitch(OpRegistry& registry);
void register_dynamic_stitch_kernels(KernelTable& table);

}  // namespace towerflow
