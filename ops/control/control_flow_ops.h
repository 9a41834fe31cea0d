#pragma once

#include <string>
#include <vector>

#include "core/graph/control_flow.h"
#include "core/graph/gradient.h"
#include "core/graph/operand.h"

namespace towerflow {

/// The nodes of branches and loops. A session runs none of them as such: core/graph/plan_flow.h
/// turns them into conditions of other nodes and into loops of a plan.

/// Merge: the value of the input that is available. All inputs are tensors of one dtype.
/// (control_flow_ops.merge)
Tensor merge(const std::vector<Tensor>& inputs, const std::string& name, Site site);

/// Exit: the value that leaves a loop. (control_flow_ops.exit)
Tensor exit_loop(const Tensor& value, const std::string& name, Site site);

/// NextIteration: the value for the next iteration. (control_flow_ops._NextIteration)
Tensor next_iteration(const Tensor& value, Site site);

/// LoopCond: decides whether a loop goes on. (control_flow_ops.loop_cond)
Tensor loop_cond(const Tensor& pred, const std::string& name, Site site);

/// ControlTrigger: a node that runs when all its control inputs have run.
Operation control_trigger(Graph& graph, const std::string& name, Site site);

/// Adds a NextIteration of `value` and makes it the second input of the Merge `merged`. Throws
/// ValueError if its shape is less specific than that of `merged`, if `enforce_shape_invariant`.
/// (control_flow_ops._AddNextAndBackEdge)
void add_back_edge(const Tensor& merged, const Tensor& value, Site site,
                   bool enforce_shape_invariant = true);

/// Returns whether every tensor of shape `specific` has shape `general` as well.
bool is_less_than_or_equal(const Shape& specific, const Shape& general);

/// The gradients of these ops; defined above this folder, in autodiff/control_flow_gradients.cc.
std::vector<OptionalGradient> control_flow_gradient(const Operation& op,
                                                    const std::vector<OptionalGradient>& dys);

}  // namespace towerflow
