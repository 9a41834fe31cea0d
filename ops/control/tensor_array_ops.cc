#include "ops/control/tensor_array_ops.h"

#include <fmt/format.h>

#include "core/graph/control_flow.h"
#include "core/graph/op_def.h"
#include "ops/family.h"

namespace towerflow {
namespace {

void require_tensor_array_rank(const InferenceContext& context, std::size_t input,
                               std::size_t rank) {
  const Shape& shape = context.shape(input);
  if (!shape.has_rank() || shape.rank() == rank) return;
  context.fail(
      fmt::format("Shape must be rank {} but is rank {} for input {}", rank, shape.rank(), input));
}

/// Checks the handle and the flow of an op; the flow is its last input.
void require_tensor_array(const InferenceContext& context) {
  if (context.dtype(0) != DType::resource) {
    context.fail_type(fmt::format("the handle of a TensorArray is a resource, not {}",
                                  dtype_name(context.dtype(0))));
  }
  require_tensor_array_rank(context, 0, 1);
  if (context.num_inputs() == 1) return;
  const std::size_t flow = context.num_inputs() - 1;
  if (context.dtype(flow) != DType::float32) {
    context.fail_type(fmt::format("a flow is a float32, not {}", dtype_name(context.dtype(flow))));
  }
  require_tensor_array_rank(context, flow, 0);
}

void require_int32_input(const InferenceContext& context, std::size_t input) {
  if (context.dtype(input) == DType::int32) return;
  context.fail_type(
      fmt::format("input {} must be int32, not {}", input, dtype_name(context.dtype(input))));
}

void tensor_array_shape(InferenceContext& context) {
  require_int32_input(context, 0);
  require_tensor_array_rank(context, 0, 0);
  context.add_output(DType::resource, Shape{2});  // as TensorFlow says
  context.add_output(DType::float32, Shape());
}

void tensor_array_grad_shape(InferenceContext& context) {
  require_tensor_array(context);
  context.add_output(DType::resource, Shape{2});
  context.add_output(DType::float32, Shape());
}

void tensor_array_read_shape(InferenceContext& context) {
  require_tensor_array(context);
  require_int32_input(context, 1);
  require_tensor_array_rank(context, 1, 0);
  context.add_output(context.attrs<TensorArrayReadAttrs>().dtype, Shape::unknown());
}

void tensor_array_write_shape(InferenceContext& context) {
  require_tensor_array(context);
  require_int32_input(context, 1);
  require_tensor_array_rank(context, 1, 0);
  context.add_output(DType::float32, Shape());
}

void tensor_array_gather_shape(InferenceContext& context) {
  require_tensor_array(context);
  require_int32_input(context, 1);
  require_tensor_array_rank(context, 1, 1);
  const auto& attrs = context.attrs<TensorArrayGatherAttrs>();
  const Shape shape = attrs.element_shape.has_rank() ? Shape{None}.concatenated(attrs.element_shape)
                                                     : Shape::unknown();
  context.add_output(attrs.dtype, shape);
}

void tensor_array_scatter_shape(InferenceContext& context) {
  require_tensor_array(context);
  require_int32_input(context, 1);
  require_tensor_array_rank(context, 1, 1);
  const Shape &indices = context.shape(1), &value = context.shape(2);
  if (value.has_rank() && value.rank() == 0)
    context.fail("The value must have rows, not be a scalar");
  if (indices.has_rank() && value.has_rank() && indices[0].known() && value[0].known() &&
      indices[0].size() != value[0].size()) {
    context.fail(fmt::format("Dimensions must be equal, but are {} and {}: one row for each index",
                             value[0].size(), indices[0].size()));
  }
  context.add_output(DType::float32, Shape());
}

void tensor_array_concat_shape(InferenceContext& context) {
  require_tensor_array(context);
  context.add_output(context.attrs<TensorArrayConcatAttrs>().dtype, Shape::unknown());
  context.add_output(DType::int64, Shape{None});
}

void tensor_array_split_shape(InferenceContext& context) {
  require_tensor_array(context);
  if (context.dtype(2) != DType::int64) {
    context.fail_type(fmt::format("lengths must be int64, not {}", dtype_name(context.dtype(2))));
  }
  context.add_output(DType::float32, Shape());
}

void tensor_array_size_shape(InferenceContext& context) {
  require_tensor_array(context);
  context.add_output(DType::int32, Shape());
}

}  // namespace

std::optional<Shape> element_shape_of_handle(const Tensor& handle) {
  const Node* node = &handle.node();
  while (is_loop_enter(*node) || is_switch(*node) || node->op->name == "Identity" ||
         node->op->name == "TensorArrayGradV3") {
    node = &node->inputs[0].node();
  }
  const auto* attrs = node->attrs.get_if<TensorArrayAttrs>();
  if (attrs == nullptr) return std::nullopt;
  if (!attrs->identical_element_shapes && !attrs->element_shape.fully_known()) return std::nullopt;
  return attrs->element_shape;
}

static void register_tensor_array_ops(OpRegistry& registry) {
  const NoGradient none{"its results are a handle and integers"};
  registry.add({.name = "TensorArrayV3",
                .inputs = {"size: int32"},
                .outputs = {"handle: resource", "flow: float32"},
                .attrs = attributes<TensorArrayAttrs>(),
                .shape = tensor_array_shape,
                .gradient = none,
                .effect = Effect::stateful,
                .uses_run_object = true});
  registry.add({.name = "TensorArrayGradV3",
                .inputs = {"handle: resource", "flow_in: float32"},
                .outputs = {"grad_handle: resource", "flow_out: float32"},
                .attrs = attributes<TensorArrayGradAttrs>(),
                .shape = tensor_array_grad_shape,
                .gradient = none,
                .effect = Effect::stateful,
                .uses_run_object = true});
  registry.add({.name = "TensorArrayReadV3",
                .inputs = {"handle: resource", "index: int32", "flow_in: float32"},
                .outputs = {"value: dtype"},
                .attrs = attributes<TensorArrayReadAttrs>(),
                .shape = tensor_array_read_shape,
                .gradient = tensor_array_read_gradient,
                .effect = Effect::stateful,
                .gives = {0},
                .uses_run_object = true,
                .cost = no_cost});
  registry.add({.name = "TensorArrayWriteV3",
                .inputs = {"handle: resource", "index: int32", "value: T", "flow_in: float32"},
                .outputs = {"flow_out: float32"},
                .shape = tensor_array_write_shape,
                .gradient = tensor_array_write_gradient,
                .effect = Effect::stateful,
                .keeps = {2},
                .uses_run_object = true,
                .cost = no_cost});
  registry.add({.name = "TensorArrayGatherV3",
                .inputs = {"handle: resource", "indices: int32", "flow_in: float32"},
                .outputs = {"value: dtype"},
                .attrs = attributes<TensorArrayGatherAttrs>(),
                .shape = tensor_array_gather_shape,
                .gradient = tensor_array_gather_gradient,
                .effect = Effect::stateful,
                .uses_run_object = true});
  registry.add({.name = "TensorArrayScatterV3",
                .inputs = {"handle: resource", "indices: int32", "value: T", "flow_in: float32"},
                .outputs = {"flow_out: float32"},
                .shape = tensor_array_scatter_shape,
                .gradient = tensor_array_scatter_gradient,
                .effect = Effect::stateful,
                .keeps = {2},
                .uses_run_object = true,
                .cost = no_cost});
  registry.add({.name = "TensorArrayConcatV3",
                .inputs = {"handle: resource", "flow_in: float32"},
                .outputs = {"value: dtype", "lengths: int64"},
                .attrs = attributes<TensorArrayConcatAttrs>(),
                .shape = tensor_array_concat_shape,
                .gradient = tensor_array_concat_gradient,
                .effect = Effect::stateful,
                .uses_run_object = true});
  registry.add({.name = "TensorArraySplitV3",
                .inputs = {"handle: resource", "value: T", "lengths: int64", "flow_in: float32"},
                .outputs = {"flow_out: float32"},
                .shape = tensor_array_split_shape,
                .gradient = tensor_array_split_gradient,
                .effect = Effect::stateful,
                .keeps = {1},
                .uses_run_object = true,
                .cost = no_cost});
  registry.add({.name = "TensorArraySizeV3",
                .inputs = {"handle: resource", "flow_in: float32"},
                .outputs = {"size: int32"},
                .shape = tensor_array_size_shape,
                .gradient = none,
                .effect = Effect::stateful,
                .uses_run_object = true});
  registry.add({.name = "TensorArrayCloseV3",
                .inputs = {"handle: resource"},
                .outputs = {},
                .shape = require_tensor_array,
                .gradient = none,
                .effect = Effect::stateful,
                .uses_run_object = true});
}

OpFamily tensor_array_ops_family() { return {.ops = register_tensor_array_ops}; }

}  // namespace towerflow
