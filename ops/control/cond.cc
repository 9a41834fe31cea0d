#include "ops/control/cond.h"

#include <fmt/format.h>

#include "core/graph/control_flow.h"
#include "core/graph/op_builder.h"
#include "core/graph/scopes.h"
#include "ops/array/view.h"
#include "ops/control/control_flow_ops.h"

namespace towerflow {
namespace {

/// A branch that has been built.
struct BuiltBranch {
  CondContext* context = nullptr;
  std::vector<Tensor> results;
};

BuiltBranch build_branch(Graph& graph, const Tensor& pred, const Tensor& pivot, int branch,
                         const std::function<std::vector<Operand>(const Tensor&)>& fn, Site site) {
  BuiltBranch built{&graph.add_context<CondContext>(pred, pivot, branch), {}};
  const ContextScope inside(graph, built.context);
  for (const Operand& value : fn(pivot)) {
    const Tensor tensor = convert_operand(graph, value, "", std::nullopt);
    built.results.push_back(built.context->result(tensor, site));
  }
  built.context->exit_result(built.results);
  return built;
}

}  // namespace

std::vector<Tensor> build_cond(const Tensor& pred,
                               const std::function<std::vector<Operand>(const Tensor&)>& true_fn,
                               const std::function<std::vector<Operand>(const Tensor&)>& false_fn,
                               const CondOptions& options, Site site) {
  Graph& graph = graph_of(Operand(pred, site));
  const DefaultGraphGuard here(graph);
  const NameScope scope(graph, options.name.empty() ? "cond" : options.name, site);
  const Operand data(pred, site);
  const Operation switched =
      OpBuilder("Switch", "", site, {&data}).input(data, "data").input(data, "pred").build();
  const Tensor pivot_true = identity(switched.output(1), {.name = "switch_t"}, site);
  const Tensor pivot_false = identity(switched.output(0), {.name = "switch_f"}, site);
  const Tensor pred_id = identity(pred, {.name = "pred_id"}, site);
  for (const Tensor& made : {switched.output(0), pivot_true, pivot_false, pred_id}) {
    made.node().fetchable = false;
  }
  const BuiltBranch on_true = build_branch(graph, pred_id, pivot_true, 1, true_fn, site);
  const BuiltBranch on_false = build_branch(graph, pred_id, pivot_false, 0, false_fn, site);
  if (on_true.results.size() != on_false.results.size()) {
    throw ValueError(fmt::format("Incompatible return values of 'true_fn' and 'false_fn': they "
                                 "return {} and {} values.",
                                 on_true.results.size(), on_false.results.size()),
                     {.site = site, .op = "cond"});
  }
  if (on_true.results.empty()) {
    throw ValueError("'true_fn' and 'false_fn' must return at least one result.",
                     {.site = site, .op = "cond"});
  }
  for (std::size_t i = 0; i < on_true.results.size(); ++i) {
    const DType taken = on_true.results[i].dtype(), other = on_false.results[i].dtype();
    if (taken == other) continue;
    throw ValueError(fmt::format("Outputs of 'true_fn' and 'false_fn' must have the same type(s). "
                                 "Received {} from 'true_fn' and {} from 'false_fn'.",
                                 dtype_name(taken), dtype_name(other)),
                     {.site = site, .op = "cond", .hint = "tf::cast converts between dtypes"});
  }
  std::vector<Tensor> merged;
  for (std::size_t i = 0; i < on_true.results.size(); ++i) {
    merged.push_back(merge({on_false.results[i], on_true.results[i]}, "", site));
  }
  if (on_true.context->outer() == nullptr) {
    for (ControlFlowContext* context : {on_true.context, on_false.context}) {
      graph.collections().add(GraphKeys::COND_CONTEXT, CollectionItem::of(context));
    }
  }
  return merged;
}

}  // namespace towerflow
