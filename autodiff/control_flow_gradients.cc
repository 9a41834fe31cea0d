// The gradients of the nodes of branches and loops: of a Switch a Merge, of a Merge a Switch, of an
// Exit an Enter, of an Enter an Exit. (control_flow_grad.py)
#include "autodiff/control_flow_gradients.h"

#include "autodiff/loop_gradients.h"
#include "core/graph/control_flow.h"
#include "core/graph/control_flow_attrs.h"
#include "core/graph/graph.h"
#include "core/graph/op_builder.h"
#include "core/graph/scopes.h"
#include "ops/array/fill.h"
#include "ops/array/indexed_slices.h"
#include "ops/array/shape_of.h"
#include "ops/array/view.h"
#include "ops/control/control_flow_ops.h"
#include "ops/math/binary.h"

namespace towerflow {
namespace {

using FlowGradients = std::vector<OptionalGradient>;

LoopGradients* open_loops(Graph& graph) { return graph.extension<OpenLoopGradients>().open; }

/// Returns the loop of gradients that is open, nullptr if there is none.
WhileContext* open_gradient_loop(Graph& graph) {
  ControlFlowContext* const open = graph.scopes().context;
  WhileContext* const loop = open == nullptr ? nullptr : open->while_context();
  return loop != nullptr && loop->gradient_loop().forward != nullptr ? loop : nullptr;
}

FlowGradients switch_gradient(const Operation& op, const FlowGradients& dys) {
  Node& node = op.node();
  const Site site = op.site();
  if (node.context != nullptr && node.context->is_while()) {
    return open_loops(op.graph())->switch_gradient(op, dys);
  }
  if (node.context != nullptr) {
    const auto& context = static_cast<const CondContext&>(*node.context);
    if (!dys[static_cast<std::size_t>(1 - context.branch())]) return {std::nullopt, std::nullopt};
    return {merge({dense_gradient(dys[0], site), dense_gradient(dys[1], site)}, "cond_grad", site),
            std::nullopt};
  }
  const Tensor pred = op.input(1);
  const Tensor on_false = switch_beside(dense_gradient(dys[0], site), pred, site).first;
  const Tensor on_true = switch_beside(dense_gradient(dys[1], site), pred, site).second;
  return {merge({on_false, on_true}, "", site), std::nullopt};
}

FlowGradients merge_gradient(const Operation& op, const FlowGradients& dys) {
  const Site site = op.site();
  const Tensor dy = dense_gradient(dys[0], site);
  ControlFlowContext* const from = output_context(op.input(0).node());
  if (from != nullptr && from->is_while()) {
    const WhileContext* loop = open_gradient_loop(op.graph());
    const auto [on_false, on_true] = switch_beside(dy, loop->pivot, site);
    return {on_false, on_true};
  }
  if (from != nullptr) {
    Tensor pred = static_cast<const CondContext*>(from)->pred();
    if (open_gradient_loop(op.graph()) != nullptr) {
      pred = open_loops(op.graph())->condition_in_backprop(pred);
    }
    const auto [on_false, on_true] = switch_beside(dy, pred, site, "cond_grad");
    return {on_false, on_true};
  }
  std::vector<Tensor> chosen;
  for (std::size_t i = 0; i < op.num_inputs(); ++i) {
    chosen.push_back(equal(op.output(1), static_cast<int>(i), {}, site));
  }
  FlowGradients dxs;
  for (const Tensor& pred : chosen) dxs.push_back(switch_beside(dy, pred, site).second);
  return dxs;
}

FlowGradients exit_gradient(const Operation& op, const FlowGradients& dys) {
  const Site site = op.site();
  WhileContext* const loop = open_gradient_loop(op.graph());
  if (loop == nullptr || !loop->options().back_prop) return {std::nullopt};
  if (while_context_of(op.node())->gradient_loop().forward != nullptr) {
    throw TypeError("Second-order gradient for while loops not supported.",
                    {.site = site, .node = op.name(), .op = op.type()});
  }
  const Tensor dy = [&] {
    const ContextScope outside(op.graph(), loop->outer());  // where the slices are
    return dense_gradient(dys[0], site);
  }();
  loop->add_known(dy);
  const ContextScope inside(op.graph(), loop);
  const Tensor entered = loop->enter(dy, false, "b_exit", site);
  loop->enters.push_back(entered);
  return {entered};
}

FlowGradients enter_gradient(const Operation& op, const FlowGradients& dys) {
  const Site site = op.site();
  WhileContext* const loop = open_gradient_loop(op.graph());
  if (loop == nullptr || !loop->options().back_prop) return {dys[0]};
  const Tensor dy = dense_gradient(dys[0], site);
  if (op.node().attrs.as<EnterAttrs>().is_constant) {
    return {open_loops(op.graph())->add_backprop_accumulator(*loop, op, dy)};
  }
  const Tensor left = exit_loop(dy, "", site);
  loop->exits.push_back(left);
  loop->exit_result({left});
  return {left};
}

}  // namespace

FlowGradients control_flow_gradient(const Operation& op, const FlowGradients& dys) {
  const Node& node = op.node();
  if (is_switch(node)) return switch_gradient(op, dys);
  if (is_merge(node)) return merge_gradient(op, dys);
  if (is_loop_exit(node)) return exit_gradient(op, dys);
  if (is_loop_enter(node)) return enter_gradient(op, dys);
  return {dys[0]};  // of a NextIteration; the Switch of the loop adds that of the gradients
}

Tensor zeros_like_switch(const Operation& op, int output, Site site) {
  const Tensor unused = op.output(static_cast<std::size_t>(output));
  if (op.node().context == nullptr) {
    const Operand like(unused, site);
    return OpBuilder("ZerosLike", "zeros_like", site, {&like}).input(like, "x").output();
  }
  const auto& context = static_cast<const CondContext&>(*op.node().context);
  const Operand data(op.input(0), site), pred(context.pred(), site);
  const Operation other = OpBuilder("Switch", "", site, {&data})
                              .input(data, "data")
                              .input(pred, "pred", DType::bool_)
                              .build();
  const Tensor value = other.output(static_cast<std::size_t>(1 - context.branch()));
  const Tensor pivot = identity(value, {}, site);
  const Tensor sizes = shape_node(value, site);
  const auto after = control_dependencies({pivot}, site);
  return zeros(sizes, {.dtype = unused.dtype()}, site);
}

}  // namespace towerflow
