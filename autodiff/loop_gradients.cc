#include "autodiff/loop_gradients.h"

#include <fmt/format.h>

#include "autodiff/control_flow_gradients.h"
#include "core/graph/constant.h"
#include "core/graph/error.h"
#include "core/graph/graph.h"
#include "core/graph/op_builder.h"
#include "core/graph/scopes.h"
#include "ops/array/constant.h"
#include "ops/array/fill.h"
#include "ops/control/control_flow_ops.h"
#include "ops/control/stack.h"
#include "ops/math/binary.h"

namespace towerflow {
namespace {

/// Adds a Switch without colocation. (control_flow_ops.switch)
std::pair<Tensor, Tensor> plain_switch(const Tensor& data, const Tensor& pred, Site site) {
  const Operand value(data, site), condition(pred, site);
  const Operation made = OpBuilder("Switch", "", site, {&value})
                             .input(value, "data")
                             .input(condition, "pred", DType::bool_)
                             .build();
  return {made.output(0), made.output(1)};
}

/// Returns the Enter of the loop invariant that a value is or passes on; nullptr if it is none.
const Node* constant_enter_of(const Tensor& value) {
  const Node* node = &value.node();
  while (is_switch(*node) || node->op->name == "Identity" || node->op->name == "RefIdentity") {
    node = &node->inputs[0].node();
  }
  return is_loop_constant_enter(*node) ? node : nullptr;
}

Tensor zero_constant(DType dtype, const Shape& shape, const std::string& name, Site site) {
  return constant(Operand(0, site), {.dtype = dtype, .shape = shape, .name = name}, site);
}

}  // namespace

Tensor shape_node(const Tensor& value, Site site) {
  const Operand input(value, site);
  return OpBuilder("Shape", "", site, {&input}).input(input, "input").output();
}

GradientLoopState::GradientLoopState(WhileContext& forward, GradientLoopState* outer,
                                     ControlFlowContext* caller, Site site)
    : forward_exits(forward.exits),
      pending_exits(forward.exits.size()),
      graph_(forward.graph()),
      forward_(forward),
      outer_(outer),
      caller_(caller),
      site_(site) {
  ControlFlowContext* const around = outer != nullptr ? &outer->forward() : forward.outer();
  Tensor count;
  {
    const ContextScope there(graph_, around != nullptr ? around : caller_);
    count = count_forward();
  }
  ControlFlowContext* backward_outer = around != nullptr ? around : caller_;
  Tensor history;
  if (outer != nullptr) {
    around->add_known(count);
    history = outer->add_forward_accumulator(count);
    backward_outer = &outer->backward();
  }
  const ContextScope there(graph_, backward_outer);
  WhileContextOptions options = forward.options();
  options.name = forward.name();
  backward_ = &graph_.add_context<WhileContext>(std::move(options));
  backward_->set_gradient_loop(
      {&forward, [this](const Tensor& value) { return real_value(value); }});
  count_backward(outer == nullptr ? count : outer->add_backprop_value(history, count));
}

/// n = 0; while (pivot) n++
Tensor GradientLoopState::count_forward() {
  const Tensor zero = constant(Operand(0, site_), {.name = "f_count"}, site_);
  if (outer_ != nullptr) {
    graph_.add_control_input(zero.node(), outer_->forward_index_.op().input(0).node());
  }
  const ContextScope inside(graph_, &forward_);
  forward_.add_known(zero);
  const Tensor entered = forward_.enter(zero, false, "f_count", site_);
  forward_.enters.push_back(entered);
  const Tensor merged = merge({entered, entered}, "", site_);
  const auto [on_exit, on_body] = plain_switch(merged, forward_.pivot, site_);
  const Tensor index = add(on_body, 1, {}, site_);
  forward_index_ = next_iteration(index, site_);
  graph_.set_back_edge(merged.node(), 1, forward_index_);
  const Tensor total = exit_loop(on_exit, "f_count", site_);
  forward_.exits.push_back(total);
  forward_.exit_result({total});
  return total;
}

/// n = count; while (n >= 1) n--
void GradientLoopState::count_backward(const Tensor& count) {
  const Tensor one = constant(Operand(1, site_), {.name = "b_count"}, site_);
  WhileContext& loop = *backward_;
  // What the caller waits for cannot enter an inner loop before it has a node to wait for inside.
  // In TensorFlow this is an AttributeError.
  std::optional<ControlDependencies> anywhere;
  if (outer_ != nullptr) anywhere.emplace(graph_, std::nullopt);
  const ContextScope inside(graph_, &loop);
  loop.add_known(count);
  const Tensor entered = loop.enter(count, false, "b_count", site_);
  loop.enters.push_back(entered);
  const Tensor merged = merge({entered, entered}, "", site_);
  loop.pivot_for_pred = merged;
  const Tensor pred = greater_equal(merged, one, {}, site_);
  loop.pivot = loop_cond(pred, "b_count", site_);
  const auto [on_exit, on_body] = plain_switch(merged, loop.pivot, site_);
  const Tensor index = subtract(on_body, one, {}, site_);
  loop.pivot_for_body = index;
  backward_index_ = next_iteration(index, site_);
  graph_.set_back_edge(merged.node(), 1, backward_index_);
  const Tensor zero = exit_loop(on_exit, "b_count", site_);
  loop.exits.push_back(zero);
  if (outer_ != nullptr) {
    // The pops of one run of an inner loop precede those of its next run.
    graph_.add_control_input(outer_->backward_sync().node(), zero.node());
  }
  loop.exit_result({zero});
}

Operation GradientLoopState::forward_sync() {
  if (!forward_sync_.valid()) {
    const ControlDependencies anywhere(graph_, std::nullopt);
    forward_sync_ = control_trigger(graph_, "f_sync", site_);
    forward_sync_.node().context = &forward_;
    graph_.add_control_input(forward_index_.node(), forward_sync_.node());
  }
  return forward_sync_;
}

Operation GradientLoopState::backward_sync() {
  if (!backward_sync_.valid()) {
    const ControlDependencies anywhere(graph_, std::nullopt);
    backward_sync_ = control_trigger(graph_, "b_sync", site_);
    backward_sync_.node().context = backward_;
    graph_.add_control_input(backward_index_.node(), backward_sync_.node());
  }
  return backward_sync_;
}

Tensor GradientLoopState::add_forward_accumulator(const Tensor& value, bool dead_branch) {
  ControlFlowContext* const open = graph_.scopes().context;
  const ControlDependencies anywhere(graph_, std::nullopt);
  Tensor stack;
  {
    const ContextScope there(graph_, open);
    const ColocationScope beside = colocate_with(value.op());
    const Tensor max_size = constant(Operand(-1, site_), {.dtype = DType::int32}, site_);
    stack = stack_v2(max_size, value.dtype(), "f_acc", site_);
  }
  const Tensor entered = forward_.add_value(stack);
  ControlFlowContext* const from = output_context(value.node());
  const bool swap = forward_.options().swap_memory;
  Tensor push;
  if (from == &forward_) {
    const ContextScope there(graph_, &forward_);
    push = stack_push_v2(entered, value, swap, site_);
    graph_.add_control_input(forward_index_.node(), push.node());
  } else {
    if (from == nullptr || from->is_while()) {
      throw TypeError(
          fmt::format("'{}' is not in a branch of the loop '{}'", value.name(), forward_.name()),
          {.site = site_, .node = value.op().name(), .op = value.op().type()});
    }
    if (dead_branch) {
      const ContextScope there(graph_, from->outer());
      push = stack_push_v2(entered, value, swap, site_);
      push.node().context = from;
    } else {
      const ContextScope there(graph_, from);
      push = stack_push_v2(entered, value, swap, site_);
    }
    graph_.add_control_input(forward_sync().node(), push.node());
  }
  graph_.add_control_input(push.node(), forward_index_.op().input(0).node());
  return stack;
}

Tensor GradientLoopState::add_backprop_value(Tensor history, const Tensor& value,
                                             bool dead_branch) {
  const ControlFlowContext* const outside = history.node().context;
  const CondContext* branch_of = nullptr;
  for (const ControlFlowContext* at = value.node().context; at != nullptr && at != outside;
       at = at->outer()) {
    if (at->is_while()) continue;
    branch_of = static_cast<const CondContext*>(at);
    break;
  }
  const ControlDependencies anywhere(graph_, std::nullopt);
  Tensor pop;
  {
    const ContextScope there(graph_, backward_);
    if (branch_of != nullptr) {
      const Tensor* pred = nullptr;
      for (const GradientLoopState* at = this; at != nullptr && pred == nullptr; at = at->outer_) {
        pred = at->known_condition(branch_of->pred());
      }
      const auto [on_false, on_true] =
          switch_beside(history, pred != nullptr ? *pred : branch_of->pred(), site_);
      const bool taken = (branch_of->branch() == 1) != dead_branch;
      history = taken ? on_true : on_false;
    }
    pop = stack_pop_v2(history, value.dtype(), site_);
    pop.set_shape(value.shape(), site_);
  }
  if (backward_->options().parallel_iterations > 1) {
    graph_.add_control_input(backward_sync().node(), pop.node());
  }
  return pop;
}

Tensor GradientLoopState::real_value(const Tensor& value) {
  const Key key(&value.node(), value.index());
  if (const auto found = history_.find(key); found != history_.end()) return found->second;
  Tensor current = value, real, history;
  GradientLoopState* state = this;
  while (!real.valid() && !history.valid()) {
    if (const Node* enter = constant_enter_of(current)) {
      current = enter->inputs[0];
      state = state->outer_;
      if (state == nullptr) real = backward_->add_value(current);
    } else if (const auto* attrs = current.node().attrs.get_if<ConstAttrs>()) {
      real = make_constant(graph_, attrs->value, "Const", site_);
    } else {
      const ContextScope there(graph_, caller_);
      history = state->add_forward_accumulator(current);
    }
  }
  if (!real.valid()) {
    real = state->add_backprop_value(history, current);
    if (state != this) real = backward_->add_value(real);
  }
  return history_[key] = real;
}

const Tensor* GradientLoopState::known_condition(const Tensor& pred) const {
  const auto found = history_.find({&pred.node(), pred.index()});
  return found == history_.end() ? nullptr : &found->second;
}

Tensor GradientLoopState::condition_in_backprop(const Tensor& pred) {
  if (const Tensor* known = known_condition(pred)) return *known;
  Tensor history;
  {
    const ContextScope there(graph_, caller_);
    history = add_forward_accumulator(pred);
  }
  return history_[{&pred.node(), pred.index()}] = add_backprop_value(history, pred);
}

/// sum = 0; while (pivot) sum += dy
Tensor GradientLoopState::add_accumulator(const Operation& enter, const Tensor& dy) {
  Tensor zero;
  if (dy.shape().fully_known()) {
    const ContextScope there(graph_, backward_->outer() != nullptr ? backward_->outer() : caller_);
    zero = zero_constant(dy.dtype(), dy.shape(), "b_acc", site_);
  } else if (outer_ != nullptr) {
    Tensor sizes;
    {
      const ContextScope there(graph_, forward_.outer());
      sizes = shape_node(enter.input(0), site_);
    }
    Tensor history;
    {
      const ContextScope there(graph_, caller_);
      history = outer_->add_forward_accumulator(sizes);
    }
    const ContextScope there(graph_, backward_->outer());
    zero = zeros(outer_->add_backprop_value(history, sizes), {.dtype = dy.dtype()}, site_);
  } else {
    const ContextScope there(graph_, backward_->outer() != nullptr ? backward_->outer() : caller_);
    const Tensor sizes = shape_node(enter.input(0), site_);
    zero = zeros(sizes, {.dtype = dy.dtype()}, site_);
  }
  WhileContext& loop = *backward_;
  const ContextScope inside(graph_, &loop);
  loop.add_known(zero);
  const Tensor entered = loop.enter(zero, false, "b_acc", site_);
  loop.enters.push_back(entered);
  const Tensor merged = merge({entered, entered}, "b_acc", site_);
  const auto [on_exit, on_body] = plain_switch(merged, loop.pivot, site_);
  const Tensor sum = add(on_body, dy, {}, site_);
  graph_.set_back_edge(merged.node(), 1, next_iteration(sum, site_));
  const Tensor left = exit_loop(on_exit, "b_acc", site_);
  loop.exits.push_back(left);
  loop.exit_result({left});
  return left;
}

LoopGradients::LoopGradients(Graph& graph, Site site)
    : graph_(graph), site_(site), caller_(graph.scopes().context) {
  OpenLoopGradients& open = graph.extension<OpenLoopGradients>();
  before_ = std::exchange(open.open, this);
}

LoopGradients::~LoopGradients() { graph_.extension<OpenLoopGradients>().open = before_; }

GradientLoopState* LoopGradients::state_of_context(const WhileContext* loop) const {
  for (const auto& state : loops_) {
    if (&state->forward() == loop) return state.get();
  }
  return nullptr;
}

GradientLoopState* LoopGradients::add_loop(const Node& exit) {
  WhileContext* const forward = while_context_of(exit);
  if (forward == nullptr) {
    throw ValueError(
        "Failed to call gradients on a while loop without properly serializing graph "
        "via MetaGraphDef",
        {.site = site_, .node = exit.name, .op = exit.op->name});
  }
  if (state_of_context(forward) != nullptr) return nullptr;
  ControlFlowContext* const around = forward->outer();
  GradientLoopState* const outer =
      around == nullptr ? nullptr : state_of_context(around->while_context());
  loops_.push_back(std::make_unique<GradientLoopState>(*forward, outer, caller_, site_));
  return loops_.back().get();
}

GradientLoopState* LoopGradients::state_of(const Node& node, bool before) const {
  const WhileContext* loop = while_context_of(node);
  if (before && is_loop_exit(node) && loop != nullptr) {
    ControlFlowContext* const around = loop->outer();
    loop = around == nullptr ? nullptr : around->while_context();
  }
  return loop == nullptr ? nullptr : state_of_context(loop);
}

/// Returns the state of the loop of gradients that is open.
GradientLoopState& LoopGradients::open_state() const {
  const WhileContext* loop = graph_.scopes().context->while_context();
  return *state_of_context(loop->gradient_loop().forward);
}

/// The Switch of a loop is reached twice: from its Exit, and from the body of the loop.
std::vector<OptionalGradient> LoopGradients::switch_gradient(
    const Operation& op, const std::vector<OptionalGradient>& dys) {
  std::map<const Node*, Tensor>& switches = open_state().switches;
  if (const auto found = switches.find(&op.node()); found != switches.end()) {
    if (dys[1]) {
      const Tensor dy =
          dys[1]->is_dense() ? dys[1]->dense() : densify(dys[1]->slices(), "", std::nullopt, site_);
      add_back_edge(found->second, dy, site_, false);
    }
    return {std::nullopt, std::nullopt};
  }
  if (!dys[0]) return {std::nullopt, std::nullopt};
  const Tensor dy =
      dys[0]->is_dense() ? dys[0]->dense() : densify(dys[0]->slices(), "", std::nullopt, site_);
  const Tensor merged = merge({dy, dy}, "b_switch", site_);
  switches[&op.node()] = merged;
  return {merged, std::nullopt};
}

Tensor LoopGradients::condition_in_backprop(const Tensor& pred) {
  return open_state().condition_in_backprop(pred);
}

Tensor LoopGradients::add_backprop_accumulator(WhileContext& loop, const Operation& enter,
                                               const Tensor& dy) {
  return state_of_context(loop.gradient_loop().forward)->add_accumulator(enter, dy);
}

Tensor LoopGradients::zeros_like_exit(const Tensor& exit) {
  const ControlFlowContext* const forward = exit.node().context;
  ControlFlowContext* const around = forward->outer();
  GradientLoopState* const outer =
      around == nullptr ? nullptr : state_of_context(around->while_context());
  if (outer == nullptr) {
    if (exit.shape().fully_known()) return zeros(exit.shape(), {.dtype = exit.dtype()}, site_);
    return zeros_like(exit, {}, site_);
  }
  if (exit.shape().fully_known()) {
    const ContextScope there(graph_, &outer->backward());
    return zeros(exit.shape(), {.dtype = exit.dtype()}, site_);
  }
  Tensor sizes;
  {
    const ContextScope there(graph_, around);
    sizes = shape_node(exit, site_);
  }
  const Tensor history = outer->add_forward_accumulator(sizes);
  const ContextScope there(graph_, &outer->backward());
  return zeros(outer->add_backprop_value(history, sizes), {.dtype = exit.dtype()}, site_);
}

Tensor LoopGradients::zeros_like_switch(const Operation& op, int output) {
  GradientLoopState* const state = state_of_context(while_context_of(op.node()));
  if (state == nullptr) return towerflow::zeros_like_switch(op, output, site_);
  const auto& context = static_cast<const CondContext&>(*op.node().context);
  const Tensor value = op.output(static_cast<std::size_t>(output));
  const auto other = [&](const std::pair<Tensor, Tensor>& switched) {
    return context.branch() == 1 ? switched.first : switched.second;
  };
  if (value.shape().fully_known()) {
    const Tensor zero = zero_constant(value.dtype(), value.shape(), "", site_);
    return other(switch_beside(zero, state->condition_in_backprop(context.pred()), site_));
  }
  Tensor sizes;
  {
    const ContextScope there(graph_, context.outer());
    const Tensor data = other(switch_beside(op.input(0), context.pred(), site_));
    sizes = shape_node(data, site_);
    data.node().context = op.node().context;
    sizes.node().context = op.node().context;
  }
  Tensor history;
  {
    const ContextScope there(graph_, caller_);
    history = state->add_forward_accumulator(sizes, true);
  }
  return zeros(state->add_backprop_value(history, sizes, true), {.dtype = value.dtype()}, site_);
}

void LoopGradients::finish() {
  for (const auto& state : loops_) {
    for (const auto& [forward, merged] : state->switches) {
      if (!(merged.op().input(0) == merged.op().input(1))) continue;
      const Tensor first = merged.op().input(0);
      Tensor next;
      if (first.shape().fully_known()) {
        const ContextScope there(graph_, &state->backward());
        next = next_iteration(zero_constant(first.dtype(), first.shape(), "", site_), site_);
      } else {
        Tensor zero;
        {
          const ContextScope there(graph_, state->backward().outer());
          const Tensor sizes = shape_node(first.op().input(0), site_);
          zero = zeros(sizes, {.dtype = first.dtype()}, site_);
        }
        const ContextScope there(graph_, &state->backward());
        next = next_iteration(zero, site_);
      }
      graph_.set_back_edge(merged.node(), 1, next);
    }
  }
}

}  // namespace towerflow
