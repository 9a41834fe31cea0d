// Rewrites that fuse averaging the towers' gradients and applying the average.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "ops/array/stack_attrs.h"
#include "ops/family.h"
#include "ops/fusion.h"
#include "ops/math/reduce_ops.h"
#include "ops/variables/apply.h"
#include "ops/variables/gradient_form.h"
#include "ops/variables/mean_update.h"

namespace towerflow {
namespace {

using ValueIds = std::vector<ValueId>;

/// A sum or average of the towers' gradients, to be computed by a fused op.
struct Average {
  GradientForm form;
  ValueIds gradients, weights;
  std::optional<ValueId> divisor;

  ValueIds inputs() const {
    ValueIds all = gradients;
    all.insert(all.end(), weights.begin(), weights.end());
    if (divisor) all.push_back(*divisor);
    return all;
  }
};

bool is_float_or_double(const PlanGraph& graph, ValueId value) {
  const DType dtype = graph.spec(value).dtype;
  return dtype == DType::float32 || dtype == DType::float64;
}

bool is_scalar(const PlanGraph& graph, ValueId value) {
  const Shape& shape = graph.spec(value).shape;
  return shape.fully_known() && shape.rank() == 0;
}

/// Returns whether `value` is known to be a single integer 0.
bool is_zero_axis(const PlanGraph& graph, ValueId value) {
  const PlanNode& node = graph.node(value);
  if (!node.is_known(static_cast<std::size_t>(value.output))) return false;
  const Array& axis = node.values[static_cast<std::size_t>(value.output)];
  if (axis.elements() != 1) return false;
  return axis.dtype() == DType::int32
             ? axis.data<std::int32_t>()[0] == 0
             : axis.dtype() == DType::int64 && axis.data<std::int64_t>()[0] == 0;
}

/// Returns the input of the ExpandDims of axis 0 that makes `value`, if node `reader` may read that
/// input instead; nullopt otherwise.
std::optional<ValueId> expand_dims_input(const PlanGraph& graph, ValueId value, int reader) {
  const PlanNode& expand = graph.node(value);
  const bool fits = !expand.dead && expand.op->name == "ExpandDims" && !expand.inputs.empty() &&
                    is_zero_axis(graph, expand.inputs[1]) && can_defer(graph, value.node, reader);
  if (!fits) return std::nullopt;
  return expand.inputs[0];
}

/// Returns the tensors that `value` concatenates along axis 0, if only node `reader` reads it; none
/// otherwise. A concat of one tensor is an Identity.
ValueIds concat_parts(const PlanGraph& graph, ValueId value, int reader) {
  if (const PlanNode* one = fusible_producer(graph, value, reader, "Identity"))
    return {one->inputs[0]};
  const PlanNode* concat = fusible_producer(graph, value, reader, "ConcatV2");
  if (concat == nullptr || !is_zero_axis(graph, concat->inputs.back())) return {};
  return {concat->inputs.begin(), concat->inputs.end() - 1};
}

/// Returns the tensors that are the rows of `value`, a stack or a concat of expanded tensors, if
/// only node `reader` reads it; none otherwise.
ValueIds rows_of(const PlanGraph& graph, ValueId value, int reader) {
  if (const PlanNode* pack = fusible_producer(graph, value, reader, "Pack")) {
    const auto* attrs = pack->attrs.get_if<PackAttrs>();
    return attrs == nullptr || attrs->axis == 0 ? pack->inputs : ValueIds{};
  }
  ValueIds rows;
  for (const ValueId part : concat_parts(graph, value, reader)) {
    const auto row = expand_dims_input(graph, part, reader);
    if (!row) return {};
    rows.push_back(*row);
  }
  return rows;
}

/// If every gradient is a product with a scalar, replaces the gradients by the other factors and
/// takes the scalars as weights.
void take_weights(const PlanGraph& graph, int reader, Average& average) {
  ValueIds gradients, weights;
  for (const ValueId value : average.gradients) {
    const PlanNode* product = fusible_producer(graph, value, reader, "Mul");
    if (product == nullptr) return;
    ValueId gradient = product->inputs[0], weight = product->inputs[1];
    if (!is_scalar(graph, weight)) std::swap(gradient, weight);
    if (!is_scalar(graph, weight)) return;
    gradients.push_back(gradient);
    weights.push_back(weight);
  }
  average.gradients = std::move(gradients);
  average.weights = std::move(weights);
  average.form.weighted = true;
}

/// Returns a sum of `gradients` for node `reader`, if they have one known shape and a dtype that
/// fused ops support; nullopt otherwise.
std::optional<Average> sum_of(const PlanGraph& graph, ValueIds gradients, int reader,
                              bool from_zero) {
  if (gradients.empty() || gradients.size() > kMaxTowers) return std::nullopt;
  const Shape& shape = graph.spec(gradients[0]).shape;
  if (!shape.fully_known() || !is_float_or_double(graph, gradients[0])) return std::nullopt;
  for (const ValueId gradient : gradients) {
    if (graph.spec(gradient).shape != shape) return std::nullopt;
  }
  Average average;
  average.form.towers = static_cast<int>(gradients.size());
  average.form.from_zero = from_zero;
  average.gradients = std::move(gradients);
  take_weights(graph, reader, average);
  return average;
}

/// Returns the sum or average that makes `value`, if only node `reader` reads it.
std::optional<Average> average_of(const PlanGraph& graph, ValueId value, int reader) {
  if (const PlanNode* mean = fusible_producer(graph, value, reader, "_MeanOfN")) {
    Average average;
    average.form = mean->attrs.as<GradientForm>();
    const auto towers = static_cast<std::ptrdiff_t>(average.form.towers);
    const auto begin = mean->inputs.begin();
    average.gradients.assign(begin, begin + towers);
    if (average.form.weighted) average.weights.assign(begin + towers, begin + 2 * towers);
    if (average.form.divided) average.divisor = mean->inputs.back();
    return average;
  }
  if (const PlanNode* sum = fusible_producer(graph, value, reader, "AddN")) {
    return sum_of(graph, sum->inputs, reader, false);
  }
  return std::nullopt;
}

/// Mean or Sum of rows g.. -> _MeanOfN(g..)
bool fuse_mean(PlanGraph& graph, int id) {
  const PlanNode& node = graph.nodes[static_cast<std::size_t>(id)];
  if (node.attrs.as<ReduceAttrs>().keep_dims || !is_zero_axis(graph, node.inputs[1])) return false;
  auto average = sum_of(graph, rows_of(graph, node.inputs[0], id), id, true);
  if (!average) return false;
  if (node.op->name == "Mean") average->form.divisor = average->form.towers;
  return graph.replace(id, "_MeanOfN", average->form, average->inputs());
}

/// A sum divided by a number -> _MeanOfN
bool fuse_quotient(PlanGraph& graph, int id) {
  const PlanNode& node = graph.nodes[static_cast<std::size_t>(id)];
  if (!is_scalar(graph, node.inputs[1])) return false;
  auto average = average_of(graph, node.inputs[0], id);
  if (!average || average->form.divided || average->form.divisor != 1) return false;
  average->form.divided = true;
  average->divisor = node.inputs[1];
  return graph.replace(id, "_MeanOfN", average->form, average->inputs());
}

/// Returns the update family of an op whose name is `prefix` and the family's name.
const UpdateFamily* family_of(const PlanNode& node, const std::string& prefix) {
  if (!node.op->name.starts_with(prefix)) return nullptr;
  const std::string name = node.op->name.substr(prefix.size());
  for (const UpdateFamily& family : update_families()) {
    if (name == family.name) return &family;
  }
  return nullptr;
}

/// Returns the inputs of an Apply op without the `count` inputs of the gradient.
ValueIds kept_inputs(const PlanNode& apply, std::size_t gradient, std::size_t count) {
  ValueIds kept = apply.inputs;
  const auto at = kept.begin() + static_cast<std::ptrdiff_t>(gradient);
  kept.erase(at, at + static_cast<std::ptrdiff_t>(count));
  return kept;
}

void append_values(ValueIds& values, const ValueIds& more) {
  values.insert(values.end(), more.begin(), more.end());
}

/// Returns whether one of the values is that of the variable. All its readers share one read. A
/// fused op that reads the variable and writes it would make that read one copy from before the
/// write, for later readers too.
bool reads_variable(const PlanGraph& graph, const ValueIds& values, int variable) {
  return std::any_of(values.begin(), values.end(), [&](ValueId value) {
    return variable >= 0 && graph.root_variable(value) == variable;
  });
}

/// An Apply op whose gradient is an average -> one op for average and update.
bool fuse_apply(PlanGraph& graph, int id) {
  const PlanNode& node = graph.nodes[static_cast<std::size_t>(id)];
  const UpdateFamily* family = family_of(node, "Apply");
  if (family == nullptr || !is_float_or_double(graph, node.inputs[0])) return false;
  // The devices of a mirrored variable exchange sums.
  const int variable = graph.root_variable(node.inputs[0]);
  const bool gathers = graph.all_reduce.algorithm == AllReduce::gather;
  if (!gathers && variable >= 0 && graph.is_mirrored(variable)) return false;
  const std::size_t gradient = 1 + family->slots + family->before_gradient;
  auto average = average_of(graph, node.inputs[gradient], id);
  if (!average || reads_variable(graph, average->inputs(), variable)) return false;
  average->form.use_nesterov = node.attrs.as<ApplyAttrs>().use_nesterov;
  ValueIds inputs = kept_inputs(node, gradient, 1);
  append_values(inputs, average->inputs());
  return graph.replace(id, std::string("_MeanApply") + family->name, average->form,
                       std::move(inputs));
}

/// Returns whether a view of a variable has the value that the variable has when node `reader`
/// runs.
bool has_current_value(const PlanGraph& graph, ValueId view, int reader) {
  const int variable = graph.root_variable(view);
  for (; graph.node(view).op->effect != Effect::variable; view = graph.node(view).inputs[0]) {
    const bool reads = !graph.node(view).own_read && !graph.spec(view).is_ref;
    if (reads && graph.index->written_between(variable, view.node, reader)) return false;
  }
  return true;
}

/// AssignSub(v, Mul(Sub(v, value), rest)) -> _MovingAverage(v, rest, value)
bool fuse_moving_average(PlanGraph& graph, int id) {
  const PlanNode& node = graph.nodes[static_cast<std::size_t>(id)];
  if (!is_float_or_double(graph, node.inputs[0])) return false;
  const PlanNode* step = fusible_producer(graph, node.inputs[1], id, "Mul");
  if (step == nullptr || !is_scalar(graph, step->inputs[1])) return false;
  const PlanNode* distance = fusible_producer(graph, step->inputs[0], id, "Sub");
  if (distance == nullptr) return false;
  const Shape& shape = graph.spec(node.inputs[0]).shape;
  for (const ValueId side : distance->inputs) {
    if (!shape.fully_known() || graph.spec(side).shape != shape) return false;
  }
  const int variable = graph.root_variable(node.inputs[0]);
  if (variable < 0 || graph.root_variable(distance->inputs[0]) != variable) return false;
  if (!has_current_value(graph, distance->inputs[0], id)) return false;
  if (reads_variable(graph, {distance->inputs[1]}, variable)) return false;
  return graph.replace(id, "_MovingAverage", {},
                       {node.inputs[0], step->inputs[1], distance->inputs[1]});
}

/// Returns whether these values of slices have known shapes and are not scalars.
bool are_slices(const PlanGraph& graph, const ValueIds& values) {
  return std::all_of(values.begin(), values.end(), [&](ValueId value) {
    const Shape& shape = graph.spec(value).shape;
    return shape.fully_known() && shape.rank() > 0;
  });
}

/// A SparseApply op whose slices are those of several towers, possibly divided by a scalar -> one
/// op that reads the towers' values in place. The indices, which are few, remain concatenated.
bool fuse_apply_rows(PlanGraph& graph, int id) {
  const PlanNode& node = graph.nodes[static_cast<std::size_t>(id)];
  const UpdateFamily* family = family_of(node, "SparseApply");
  if (family == nullptr || !family->rows || !is_float_or_double(graph, node.inputs[0]))
    return false;
  const std::size_t at = 1 + family->slots + family->before_gradient;
  Average average;
  ValueId values = node.inputs[at];
  if (const PlanNode* quotient = fusible_producer(graph, values, id, "RealDiv")) {
    if (!is_scalar(graph, quotient->inputs[1])) return false;
    average.form.divided = true;
    average.divisor = quotient->inputs[1];
    values = quotient->inputs[0];
  }
  average.gradients = concat_parts(graph, values, id);
  const std::size_t towers = average.gradients.size();
  if (towers < 2 || towers > kMaxTowers) return false;
  take_weights(graph, id, average);
  const ValueId indices = node.inputs[at + 1];
  const bool known = graph.spec(indices).shape.fully_known();
  if (!known || !are_slices(graph, average.gradients)) return false;
  average.form.towers = static_cast<int>(towers);
  average.form.use_nesterov = node.attrs.as<ApplyAttrs>().use_nesterov;
  ValueIds inputs = kept_inputs(node, at, 2);
  append_values(inputs, average.inputs());
  if (reads_variable(graph, average.inputs(), graph.root_variable(node.inputs[0]))) return false;
  inputs.push_back(indices);
  return graph.replace(id, std::string("_MeanSparseApply") + family->name, average.form,
                       std::move(inputs));
}

}  // namespace

static void register_mean_update_rules(std::vector<RewriteRule>& rules) {
  std::vector<std::string> dense, rows;
  for (const UpdateFamily& family : update_families()) {
    dense.push_back(std::string("Apply") + family.name);
    if (family.rows) rows.push_back(std::string("SparseApply") + family.name);
  }
  rules.push_back({"mean of towers",
                   "updates",
                   fuse_mean,
                   {"Mean", "Sum"},
                   {"ConcatV2", "ExpandDims", "Mul", "Pack"}});
  rules.push_back(
      {"sum of towers and quotient", "updates", fuse_quotient, {"RealDiv"}, {"AddN", "Sum"}});
  rules.push_back({"average and update",
                   "updates",
                   fuse_apply,
                   std::move(dense),
                   {"AddN", "ConcatV2", "ExpandDims", "Mean", "Pack", "RealDiv", "Sum"}});
  rules.push_back({"slices of towers and update",
                   "updates",
                   fuse_apply_rows,
                   std::move(rows),
                   {"ConcatV2", "Mul", "RealDiv"}});
  rules.push_back(
      {"moving average", "updates", fuse_moving_average, {"AssignSub"}, {"Mul", "Sub"}});
}

OpFamily update_rewrites_family() { return {.rules = register_mean_update_rules}; }

}  // namespace towerflow
