#pragma once

#include "core/graph/tensor.h"

namespace towerflow {

class LoopGradients;

/// The gradients of loops that a call of `gradients` is building in a graph, nullptr if there are
/// none. Kept with the graph.
struct OpenLoopGradients {
  LoopGradients* open = nullptr;
};

/// Returns zeros in the shape of an output of a Switch that received no gradient, made only if the
/// other branch was taken. (control_flow_state._ZerosLikeV1)
Tensor zeros_like_switch(const Operation& op, int output, Site site);

}  // namespace towerflow
