#pragma once

#include "core/device/backend.h"
#include "core/graph/op_def.h"

namespace towerflow {

/// Op BroadcastGradientArgs: along which axes the gradients of two operands are to be summed after
/// a broadcast. Graphs that come from TensorFlow have it, and those that go there.
///
/// shapes   s0 [m], s1 [n], the sizes of the operands -> r0 [?], r1 [?], in rising order
/// dtypes   int32 and int64
/// grads    none: axes are integers
/// errors   InvalidArgumentError in a run whose operands do not broadcast
/// source   tf.raw_ops.BroadcastGradientArgs
void register_broadcast_gradient_args(OpRegistry& registry);
void register_broadcast_gradient_args_kernels(KernelTable& table);

}  // namespace towerflow
