#include "core/graph/control_flow.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/graph/control_flow_attrs.h"
#include "core/graph/error.h"
#include "core/graph/graph.h"
#include "core/graph/op_builder.h"
#include "core/graph/op_def.h"
#include "core/graph/scopes.h"

namespace towerflow {
namespace {

bool has_op(const Node& node, const char* op, const char* ref_op) {
  return node.op->name == op || node.op->name == ref_op;
}

WhileContext* loop_around(ControlFlowContext* context) {
  return context == nullptr ? nullptr : context->while_context();
}

}  // namespace

bool is_switch(const Node& node) { return has_op(node, "Switch", "RefSwitch"); }
bool is_merge(const Node& node) { return has_op(node, "Merge", "RefMerge"); }
bool is_loop_enter(const Node& node) { return has_op(node, "Enter", "RefEnter"); }
bool is_loop_exit(const Node& node) { return has_op(node, "Exit", "RefExit"); }
bool is_next_iteration(const Node& node) {
  return has_op(node, "NextIteration", "RefNextIteration");
}

bool is_loop_constant_enter(const Node& node) {
  return is_loop_enter(node) && node.attrs.as<EnterAttrs>().is_constant;
}

bool is_loop_switch(const Node& node) {
  return is_switch(node) && node.inputs[1].node().op->name == "LoopCond";
}

ControlFlowContext* context_for(const Node& node, ControlFlowContext* open) {
  if (open == nullptr || !open->is_while()) return open;
  const WhileContext* forward = open->while_context()->gradient_loop().forward;
  const std::string& op = node.op->name;
  if (forward == nullptr || !(op == "Shape" || op == "Size" || op == "Rank")) return open;
  const Node& input = node.inputs.at(0).node();
  return while_context_of(input) == forward ? input.context : open;
}

ControlFlowContext* output_context(const Node& node) {
  if (node.context != nullptr && is_loop_exit(node)) return node.context->outer();
  return node.context;
}

WhileContext* while_context_of(const Node& node) { return loop_around(node.context); }

bool is_containing_context(const ControlFlowContext* context, const ControlFlowContext* outer) {
  for (; context != outer; context = context->outer()) {
    if (context == nullptr) return false;
  }
  return true;
}

void check_input_context(const Node& node, const Node& input) {
  ControlFlowContext* const from = output_context(input);
  if (from == nullptr || from == node.context) return;
  const WhileContext* const loop = loop_around(node.context);
  const WhileContext* const input_loop = loop_around(from);
  if (loop == nullptr) {
    if (input_loop == nullptr || is_loop_enter(node) || is_switch(node)) return;
    throw ValueError(
        fmt::format("Cannot use '{}' as input to '{}' because '{}' is in a while loop.", input.name,
                    node.name, input.name),
        {.site = node.site,
         .node = node.name,
         .op = node.op->name,
         .hint = "let the body of the loop return the tensor, and use the result of while_loop"});
  }
  if (is_containing_context(loop, input_loop)) return;
  if (const WhileContext* forward = loop->gradient_loop().forward) {
    if (is_containing_context(forward, input_loop)) return;
    if (input_loop != nullptr && forward == input_loop->outer()) return;
  }
  if (input_loop != nullptr && input_loop->gradient_loop().forward == loop) return;
  throw ValueError(fmt::format("Cannot use '{}' as input to '{}' because they are in different "
                               "while loops.",
                               input.name, node.name),
                   {.site = node.site, .node = node.name, .op = node.op->name});
}

std::pair<Tensor, Tensor> switch_beside(const Tensor& data, const Tensor& pred, Site site,
                                        const std::string& name) {
  Graph& graph = data.graph();
  const ColocationScope beside(graph, &data.node(), true);
  const char* const op = data.is_ref() ? "RefSwitch" : "Switch";
  const Operand data_operand(data, site), pred_operand(pred, site);
  const Operation made = OpBuilder(op, name, site, {&data_operand})
                             .input(data_operand, "data")
                             .input(pred_operand, "pred", DType::bool_)
                             .build();
  return {made.output(0), made.output(1)};
}

ControlFlowContext::ControlFlowContext(Graph& graph, std::string name)
    : graph_(graph), name_(graph.unique_name(name)), outer_(graph.scopes().context) {}

ControlFlowContext::~ControlFlowContext() = default;

ControlFlowContext::Key ControlFlowContext::key(const Tensor& tensor) {
  return {&tensor.node(), tensor.index()};
}

WhileContext* ControlFlowContext::while_context() {
  if (is_while()) return static_cast<WhileContext*>(this);
  return outer_ == nullptr ? nullptr : outer_->while_context();
}

void ControlFlowContext::add_known(const Node& node) {
  for (std::size_t i = 0; i < node.outputs.size(); ++i)
    values_.insert({&node, static_cast<int>(i)});
}

void ControlFlowContext::forget_nodes_from(int id) {
  std::erase_if(values_, [&](const Key& value) { return value.first->id >= id; });
  std::erase_if(externals_, [&](const auto& entry) {
    return entry.first.first->id >= id || entry.second.node().id >= id;
  });
}

void ControlFlowContext::exit_result(const std::vector<Tensor>& results) {
  if (outer_ == nullptr) return;
  for (const Tensor& result : results) outer_->add_known(result);
}

Tensor ControlFlowContext::known(const Tensor& value) const {
  const auto found = externals_.find(key(value));
  return found == externals_.end() ? value : found->second;
}

std::vector<Node*> ControlFlowContext::remove_external_control(Node& node) {
  std::vector<Node*> external;
  const WhileContext* const loop = while_context();
  if (loop == nullptr) return external;
  std::erase_if(node.control_inputs, [&](Node* input) {
    const bool internal = loop_around(output_context(*input)) == loop;
    if (!internal) external.push_back(input);
    return !internal;
  });
  return external;
}

CondContext::CondContext(Graph& graph, Tensor pred, Tensor pivot, int branch)
    : ControlFlowContext(graph, "cond_text"), pred_(pred), pivot_(pivot), branch_(branch) {
  add_known(pred_);
  externals_[key(pred_)] = pred_;
  add_known(pivot_);
  pivot_.node().context = this;
}

Tensor CondContext::add_value(const Tensor& value) {
  if (knows(value)) return known(value);
  add_known(value);
  Tensor result = value;
  if (outer() != nullptr) {
    result = outer()->add_value(value);
    add_known(result);
    externals_[key(result)] = result;
  }
  {
    const ControlDependencies anywhere(graph(), std::nullopt);
    const auto [on_false, on_true] = switch_beside(result, pred_, value.op().site());
    result = branch_ == 1 ? on_true : on_false;
  }
  Node& made = result.node();
  made.fetchable = false;
  made.context = this;
  for (ControlFlowContext* at = this; at != nullptr; at = at->outer()) at->add_known(result);
  externals_[key(value)] = result;
  return result;
}

void CondContext::adopt(Node& node) {
  for (Tensor& input : node.inputs) {
    if (node.op->name == "Merge" && is_next_iteration(input.node())) continue;
    input = add_value(input);
  }
  remove_external_control(node);
  if (node.inputs.empty() &&
      std::none_of(node.control_inputs.begin(), node.control_inputs.end(), [&](const Node* input) {
        return is_containing_context(input->context, this);
      })) {
    node.control_inputs.push_back(&pivot_.node());
  }
  if (outer() != nullptr || !is_loop_exit(node)) node.fetchable = false;
}

void CondContext::added(Node& node) {
  for (ControlFlowContext* at = this; at != nullptr; at = at->outer()) at->add_known(node);
}

Tensor CondContext::result(const Tensor& value, Site site) {
  if (knows(value)) return known(value);
  add_known(value);
  Tensor real = value;
  if (outer() != nullptr) {
    real = outer()->add_value(value);
    add_known(real);
    externals_[key(real)] = real;
  }
  const auto [on_false, on_true] = switch_beside(real, pred_, site);
  real = branch_ == 1 ? on_true : on_false;
  externals_[key(value)] = real;
  return real;
}

WhileContext::WhileContext(Graph& graph, WhileContextOptions options)
    : ControlFlowContext(graph, options.name), options_(std::move(options)) {}

Node* WhileContext::control_pivot() const {
  const Tensor& at = pivot_for_body.valid() ? pivot_for_body : pivot_for_pred;
  return at.valid() ? &at.node() : nullptr;
}

Tensor WhileContext::enter(const Tensor& value, bool is_constant, const std::string& name,
                           Site site, bool use_input_shape) {
  const char* const op = value.is_ref() ? "RefEnter" : "Enter";
  const Operand data(value, site);
  // As all ops that take a reference, the op is colocated with it.
  std::optional<ColocationScope> beside;
  if (value.is_ref()) beside.emplace(value.graph(), &value.node(), false, site);
  Tensor made = OpBuilder(op, name, site, {&data})
                    .input(data, "data")
                    .attrs(EnterAttrs{this->name(), is_constant, options_.parallel_iterations})
                    .output();
  if (use_input_shape) made.set_shape(value.shape(), site);
  return made;
}

Tensor WhileContext::add_value(const Tensor& value) {
  if (knows(value) || value.node().context == this) return known(value);
  add_known(value);
  // A value of the forward loop is read from what that loop has kept.
  if (ControlFlowContext* open = graph().scopes().context) {
    const WhileContext* loop = open->while_context();
    if (loop != nullptr && loop->gradient_loop_.forward != nullptr) {
      ControlFlowContext* forward = while_context_of(value.node());
      if (forward != nullptr && is_loop_exit(value.node())) forward = loop_around(forward->outer());
      if (forward == loop->gradient_loop_.forward) {
        const Tensor real = loop->gradient_loop_.real_value(value);
        externals_[key(value)] = real;
        return real;
      }
    }
  }
  Tensor result = outer() == nullptr ? value : outer()->add_value(value);
  {
    const ControlDependencies anywhere(graph(), std::nullopt);
    result = enter(result, true, "", value.op().site());
  }
  result.node().feedable = false;
  fix_control_inputs({result});
  add_known(result);
  externals_[key(value)] = result;
  return result;
}

void WhileContext::adopt(Node& node) {
  std::vector<Node*> external;
  if (node.inputs.empty()) {
    external = remove_external_control(node);
    if (node.control_inputs.empty()) node.control_inputs.push_back(control_pivot());
  } else {
    for (Tensor& input : node.inputs) input = add_value(input);
    external = remove_external_control(node);
    const bool only_invariants =
        std::all_of(node.inputs.begin(), node.inputs.end(),
                    [](const Tensor& input) { return is_loop_constant_enter(input.node()); });
    if (node.control_inputs.empty() && only_invariants) {
      node.control_inputs.push_back(control_pivot());
    }
  }
  if (!external.empty()) {
    // A value of the awaited node enters the loop, and the node waits for that.
    const ControlDependencies anywhere(graph(), std::nullopt);
    const ContextScope here(graph(), this);
    for (Node* awaited : external) {
      if (awaited->outputs.empty()) continue;
      const Operand value(Tensor(awaited, 0), node.site);
      const Tensor inside =
          OpBuilder("Identity", "", node.site, {&value}).input(value, "input").output();
      node.control_inputs.push_back(&inside.node());
    }
  }
  if (outer() != nullptr || !is_loop_exit(node)) {
    node.fetchable = false;
    node.feedable = false;
  }
}

void WhileContext::added(Node& node) { add_known(node); }

void WhileContext::forget_nodes_from(int id) {
  ControlFlowContext::forget_nodes_from(id);
  for (std::vector<Tensor>* kept : {&enters, &exits}) {
    std::erase_if(*kept, [&](const Tensor& tensor) { return tensor.node().id >= id; });
  }
}

void WhileContext::fix_control_inputs(const std::vector<Tensor>& entered) {
  ScopeState& state = graph().scopes();
  for (const Tensor& made : entered) {
    Node& node = made.node();
    Distinct<Node*> found = state.control_inputs_for({node.inputs[0]});
    for (Node* awaited : found.take()) {
      // Nodes of contexts around the loop may be awaited, up to the next loop.
      const ControlFlowContext* from = output_context(*awaited);
      const WhileContext* const outer_loop = loop_around(outer());
      const ControlFlowContext* at = outer();
      while (at != from && at != nullptr && at != outer_loop) at = at->outer();
      if (at == from) graph().add_control_input(node, *awaited);
    }
    node.context = this;
    for (ControlLevel& level : state.control) level.made_inside.insert(&node);
  }
}

void WhileContext::initialize_values(const std::vector<Tensor>& values) {
  values_.clear();
  for (const Tensor& value : values) add_known(value);
}

ContextScope::ContextScope(Graph& graph, ControlFlowContext* context)
    : graph_(graph), before_(std::exchange(graph.scopes().context, context)) {}

ContextScope::~ContextScope() { graph_.scopes().context = before_; }

}  // namespace towerflow
