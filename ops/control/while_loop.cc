#include "ops/control/while_loop.h"

#include <fmt/format.h>

#include "core/graph/control_flow.h"
#include "core/graph/op_builder.h"
#include "core/graph/scopes.h"
#include "ops/array/view.h"
#include "ops/control/control_flow_ops.h"
#include "ops/math/binary.h"

namespace towerflow {
namespace {

using Condition = std::function<Operand(const std::vector<Tensor>&)>;
using Body = std::function<std::vector<Operand>(const std::vector<Tensor>&)>;

/// Builds one loop; its steps are those of WhileContext._BuildLoop.
class LoopBuilder {
 public:
  LoopBuilder(WhileContext& context, Site site)
      : graph_(context.graph()), context_(context), site_(site) {}

  std::vector<Tensor> build(const std::vector<Tensor>& loop_vars, const std::vector<Shape>& shapes,
                            const Condition& cond, const Body& body) {
    const ContextScope inside(graph_, &context_);
    enter(loop_vars, shapes);
    std::vector<Tensor> merged;
    for (const Tensor& entered : context_.enters)
      merged.push_back(merge({entered, entered}, "", site_));
    context_.pivot_for_pred = merged[0];
    const Tensor pred = convert_operand(graph_, cond(merged), "", std::nullopt);
    context_.pivot = loop_cond(pred, "LoopCond", site_);
    std::vector<std::pair<Tensor, Tensor>> switched;
    for (const Tensor& value : merged) {
      switched.push_back(switch_beside(value, context_.pivot, site_));
    }
    std::vector<Tensor> values;
    for (const auto& [on_exit, on_body] : switched) values.push_back(identity(on_body, {}, site_));
    context_.pivot_for_body = values[0];
    close(merged, body(values));
    for (const auto& [on_exit, on_body] : switched) {
      context_.exits.push_back(exit_loop(on_exit, "", site_));
    }
    context_.exit_result(context_.exits);
    return context_.exits;
  }

 private:
  void enter(const std::vector<Tensor>& loop_vars, const std::vector<Shape>& shapes) {
    context_.initialize_values(loop_vars);
    ControlFlowContext* const outer = context_.outer();
    std::vector<Tensor> entered, values = loop_vars;
    if (outer != nullptr) {
      for (Tensor& value : values) value = outer->add_value(value);
    }
    {
      const ControlDependencies anywhere(graph_, std::nullopt);
      for (std::size_t i = 0; i < values.size(); ++i) {
        const Tensor& real = values[i];
        Tensor made = context_.enter(real, false, "", site_, false);
        if (!is_less_than_or_equal(real.shape(), shapes[i])) {
          throw ValueError(
              fmt::format("The shape invariant specified for {} is not compatible with the initial "
                          "shape of the loop variable. It enters the loop with shape {}, but the "
                          "specified shape invariant is {}.",
                          real.name(), real.shape().text(), shapes[i].text()),
              {.site = site_, .op = "while_loop"});
        }
        made.set_shape(shapes[i], site_);
        made.node().feedable = false;
        entered.push_back(made);
      }
    }
    await_outer_pivot(entered);
    context_.fix_control_inputs(entered);
    context_.initialize_values(entered);
    context_.enters = entered;
  }

  /// An invariant of a loop around this one does not show that an iteration of it runs.
  void await_outer_pivot(const std::vector<Tensor>& entered) {
    Node* pivot = nullptr;
    for (ControlFlowContext* at = context_.outer(); at != nullptr && pivot == nullptr;
         at = at->outer()) {
      pivot = at->control_pivot();
    }
    if (pivot == nullptr) return;
    for (const Tensor& made : entered) {
      if (is_loop_constant_enter(made.op().input(0).node())) {
        graph_.add_control_input(made.node(), *pivot);
      }
    }
  }

  void close(const std::vector<Tensor>& merged, const std::vector<Operand>& results) {
    if (results.size() != merged.size()) {
      throw ValueError(
          fmt::format("Number of inputs and outputs of 'body' must match 'loop_vars'. Got {} for "
                      "the number of outputs, and {} for 'loop_vars'.",
                      results.size(), merged.size()),
          {.site = site_, .op = "while_loop"});
    }
    std::vector<Tensor> next;
    for (const Operand& result : results) {
      next.push_back(convert_operand(graph_, result, "", std::nullopt));
    }
    for (std::size_t i = 0; i < merged.size(); ++i) {
      if (next[i].dtype() != merged[i].dtype()) {
        throw TypeError(
            fmt::format("A loop variable of type {} is {} after an iteration: {} and {}",
                        dtype_name(merged[i].dtype()), dtype_name(next[i].dtype()),
                        merged[i].op().input(0).op().input(0).name(), next[i].name()),
            {.site = site_, .op = "while_loop", .hint = "tf::cast converts between dtypes"});
      }
      add_back_edge(merged[i], next[i], site_);
    }
  }

  Graph& graph_;
  WhileContext& context_;
  Site site_;
};

}  // namespace

std::vector<Tensor> build_while(const std::vector<Operand>& loop_vars, const Condition& cond,
                                const Body& body, const WhileLoopOptions& options, Site site) {
  if (options.parallel_iterations < 1) {
    throw TypeError("'parallel_iterations' must be a positive integer.",
                    {.site = site, .op = "while_loop"});
  }
  Graph* found = &get_default_graph();
  for (const Operand& value : loop_vars) {
    if (value.any_tensor() != nullptr) {
      found = &graph_of(value);
      break;
    }
  }
  Graph& graph = *found;
  const DefaultGraphGuard here(graph);
  const NameScope scope(graph, options.name.empty() ? "while" : options.name, site);
  if (loop_vars.empty()) {
    throw ValueError("'loop_vars' must be provided.", {.site = site, .op = "while_loop"});
  }
  WhileContextOptions made{.parallel_iterations = options.parallel_iterations,
                           .back_prop = options.back_prop,
                           .swap_memory = options.swap_memory};
  std::vector<Operand> variables = loop_vars;
  std::optional<std::vector<Shape>> invariants = options.shape_invariants;
  Condition bounded_cond = cond;
  Body bounded_body = body;
  if (options.maximum_iterations) {
    const Tensor limit =
        convert_operand(graph, *options.maximum_iterations, "maximum_iterations", std::nullopt);
    if (!limit.shape().has_rank() || limit.shape().rank() != 0) {
      throw ValueError(fmt::format("'maximum_iterations' must be a scalar. Received shape: {}",
                                   limit.shape().text()),
                       {.site = site, .op = "while_loop"});
    }
    made.maximum_iterations = limit;
    const Operand counter(
        convert_operand(graph, Operand(0, site), "iteration_counter", limit.dtype()), site);
    variables.insert(variables.begin(), counter);
    if (invariants) invariants->insert(invariants->begin(), Shape());
    bounded_cond = [&cond, limit, site](const std::vector<Tensor>& values) {
      const Tensor within = values[0] < limit;
      const Operand wanted = cond({values.begin() + 1, values.end()});
      return Operand(logical_and(within, wanted, {}, site), site);
    };
    bounded_body = [&body, site](const std::vector<Tensor>& values) {
      std::vector<Operand> next{Operand(values[0] + 1, site)};
      for (Operand& value : body({values.begin() + 1, values.end()})) next.push_back(value);
      return next;
    };
  }
  auto& context = graph.add_context<WhileContext>(made);
  if (context.outer() == nullptr) {
    ControlFlowContext* const kept = &context;
    graph.collections().add(GraphKeys::WHILE_CONTEXT, CollectionItem::of(kept));
  }
  std::vector<Tensor> tensors;
  std::vector<Shape> shapes;
  for (const Operand& value : variables) {
    tensors.push_back(convert_operand(graph, value, "", std::nullopt));
    shapes.push_back(tensors.back().shape());
  }
  if (invariants) {
    if (invariants->size() != tensors.size()) {
      throw ValueError(fmt::format("{} shape_invariants for {} loop variables", invariants->size(),
                                   tensors.size()),
                       {.site = site, .op = "while_loop"});
    }
    shapes = *invariants;
  }
  std::vector<Tensor> exits =
      LoopBuilder(context, site).build(tensors, shapes, bounded_cond, bounded_body);
  if (options.maximum_iterations) exits.erase(exits.begin());
  return exits;
}

}  // namespace towerflow
