#include "ops/control/control_flow_ops.h"

#include <fmt/format.h>

#include <optional>

#include "core/graph/control_flow_attrs.h"
#include "core/graph/graph.h"
#include "core/graph/op_builder.h"
#include "core/graph/scopes.h"
#include "ops/family.h"

namespace towerflow {
namespace {

void require_scalar_pred(const InferenceContext& context, std::size_t input) {
  if (context.dtype(input) != DType::bool_) {
    context.fail_type(
        fmt::format("the condition must be a bool, not {}", dtype_name(context.dtype(input))));
  }
  const Shape& shape = context.shape(input);
  if (shape.has_rank() && shape.rank() != 0) {
    context.fail(fmt::format("Shape must be rank 0 but is rank {}: the condition", shape.rank()));
  }
}

void switch_shape(InferenceContext& context) {
  require_scalar_pred(context, 1);
  for (int i = 0; i < 2; ++i) {
    context.add_output(context.dtype(0), context.shape(0), context.is_ref(0));
  }
}

/// Returns what two shapes have in common: sizes that differ become unknown.
Shape common_shape(const Shape& a, const Shape& b) {
  if (!a.has_rank() || !b.has_rank() || a.rank() != b.rank()) return Shape::unknown();
  std::vector<Dim> dims;
  for (std::size_t i = 0; i < a.rank(); ++i) dims.push_back(a[i] == b[i] ? a[i] : Dim(None));
  return Shape(std::move(dims));
}

void merge_shape(InferenceContext& context) {
  Shape shape = context.shape(0);
  bool refs = context.is_ref(0);
  for (std::size_t i = 1; i < context.num_inputs(); ++i) {
    refs = refs && context.is_ref(i);
    if (context.dtype(i) != context.dtype(0)) {
      context.fail_type(fmt::format("a Merge of {} and {}", dtype_name(context.dtype(0)),
                                    dtype_name(context.dtype(i))));
    }
    shape = common_shape(shape, context.shape(i));
  }
  context.add_output(context.dtype(0), std::move(shape), refs);
  context.add_output(DType::int32, Shape());
}

/// Of Enter: the shape is set by the caller, since that of a loop variable may change.
void enter_shape(InferenceContext& context) {
  const bool constant = context.attrs<EnterAttrs>().is_constant || context.is_ref(0);
  context.add_output(context.dtype(0), constant ? context.shape(0) : Shape::unknown(),
                     context.is_ref(0));
}

void pass_shape(InferenceContext& context) {
  context.add_output(context.dtype(0), context.shape(0), context.is_ref(0));
}

void loop_cond_shape(InferenceContext& context) {
  require_scalar_pred(context, 0);
  context.add_output(DType::bool_, Shape());
}

}  // namespace

static void register_control_flow_ops(OpRegistry& registry) {
  struct Op {
    const char *name, *ref_name;
    ArgTexts inputs, outputs, ref_inputs, ref_outputs;
    ShapeRule shape;
    AttrsDef attrs{};
  };
  const Op ops[] = {
      {"Switch",
       "RefSwitch",
       {"data: T", "pred: bool"},
       {"output_false: T", "output_true: T"},
       {"data: Ref(T)", "pred: bool"},
       {"output_false: Ref(T)", "output_true: Ref(T)"},
       switch_shape},
      {"Merge",
       "RefMerge",
       {"inputs: N * T"},
       {"output: T", "value_index: int32"},
       {"inputs: N * Ref(T)"},
       {"output: Ref(T)", "value_index: int32"},
       merge_shape},
      {"Enter",
       "RefEnter",
       {"data: T"},
       {"output: T"},
       {"data: Ref(T)"},
       {"output: Ref(T)"},
       enter_shape,
       attributes<EnterAttrs>()},
      {"Exit",
       "RefExit",
       {"data: T"},
       {"output: T"},
       {"data: Ref(T)"},
       {"output: Ref(T)"},
       pass_shape},
      {"NextIteration",
       "RefNextIteration",
       {"data: T"},
       {"output: T"},
       {"data: Ref(T)"},
       {"output: Ref(T)"},
       pass_shape},
  };
  const GradientRule gradient = control_flow_gradient;
  for (const Op& op : ops) {
    registry.add({.name = op.name,
                  .inputs = op.inputs,
                  .outputs = op.outputs,
                  .attrs = op.attrs,
                  .shape = op.shape,
                  .gradient = gradient});
    registry.add({.name = op.ref_name,
                  .inputs = op.ref_inputs,
                  .outputs = op.ref_outputs,
                  .attrs = op.attrs,
                  .shape = op.shape,
                  .gradient = gradient});
  }
  registry.add({.name = "LoopCond",
                .inputs = {"input: bool"},
                .outputs = {"output: bool"},
                .shape = loop_cond_shape,
                .gradient = NoGradient{"a condition is a bool"}});
  registry.add({.name = "ControlTrigger",
                .shape = [](InferenceContext&) {},
                .gradient = NoGradient{"an operation without outputs has no gradient"}});
}

OpFamily control_flow_family() { return {.ops = register_control_flow_ops}; }

Tensor merge(const std::vector<Tensor>& inputs, const std::string& name, Site site) {
  bool refs = true;
  for (const Tensor& input : inputs) refs = refs && input.is_ref();
  const Operand first(inputs.at(0), site);
  // As TensorFlow does with ops that take references, beside the first of them.
  std::optional<ColocationScope> beside;
  if (refs) beside.emplace(inputs[0].graph(), &inputs[0].node(), false, site);
  OpBuilder builder(refs ? "RefMerge" : "Merge", name, "Merge", site, {&first});
  return builder.inputs(inputs, "inputs").output();
}

Tensor exit_loop(const Tensor& value, const std::string& name, Site site) {
  const Operand data(value, site);
  const char* const op = value.is_ref() ? "RefExit" : "Exit";
  return OpBuilder(op, name, site, {&data}).input(data, "data").output();
}

Tensor next_iteration(const Tensor& value, Site site) {
  const Operand data(value, site);
  const char* const op = value.is_ref() ? "RefNextIteration" : "NextIteration";
  return OpBuilder(op, "", site, {&data}).input(data, "data").output();
}

Tensor loop_cond(const Tensor& pred, const std::string& name, Site site) {
  const Operand input(pred, site);
  return OpBuilder("LoopCond", name, site, {&input}).input(input, "input", DType::bool_).output();
}

Operation control_trigger(Graph& graph, const std::string& name, Site site) {
  const DefaultGraphGuard here(graph);
  return OpBuilder("ControlTrigger", name, site).build();
}

bool is_less_than_or_equal(const Shape& specific, const Shape& general) {
  if (!general.has_rank()) return true;
  if (!specific.has_rank() || specific.rank() != general.rank()) return false;
  for (std::size_t i = 0; i < general.rank(); ++i) {
    if (general[i].known() && !(specific[i] == general[i])) return false;
  }
  return true;
}

void add_back_edge(const Tensor& merged, const Tensor& value, Site site,
                   bool enforce_shape_invariant) {
  const Tensor next = next_iteration(value, site);
  if (enforce_shape_invariant && !is_less_than_or_equal(next.shape(), merged.shape())) {
    const Tensor initial = merged.op().input(0).op().input(0);
    throw ValueError(
        fmt::format("Input tensor '{}' enters the loop with shape {}, but has shape {} after one "
                    "iteration.",
                    initial.name(), initial.shape().text(), next.shape().text()),
        {.site = site,
         .hint = "to allow the shape to vary across iterations, give while_loop "
                 "`shape_invariants` with a less specific shape"});
  }
  merged.graph().set_back_edge(merged.node(), 1, next);
}

}  // namespace towerflow
