#include "autodiff/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <set>

#include "autodiff/aggregate.h"
#include "autodiff/control_flow_gradients.h"
#include "autodiff/loop_gradients.h"
#include "core/graph/control_flow.h"
#include "core/graph/gradient_registry.h"
#include "core/graph/op_builder.h"
#include "ops/array/fill.h"
#include "ops/array/shape_of.h"
#include "ops/array/view.h"
#include "ops/control/tuple.h"
#include "ops/variables/copies.h"

namespace towerflow {
namespace {

using TensorKey = std::pair<Node*, int>;

TensorKey key(const Tensor& tensor) { return {&tensor.node(), tensor.index()}; }

/// Adds `node` and its ancestors to `order`, as far as `wanted` holds for them.
template <class Wanted>
void add_ancestors(Node* node, std::unordered_set<const Node*>& seen, std::vector<Node*>& order,
                   const Wanted& wanted) {
  std::vector<Node*> stack;
  const auto visit = [&](Node* next) {
    if (!wanted(next) || !seen.insert(next).second) return;
    order.push_back(next);
    stack.push_back(next);
  };
  visit(node);
  while (!stack.empty()) {
    const Node* next = stack.back();
    stack.pop_back();
    for (const Tensor& input : next->inputs) visit(&input.node());
  }
}

class Sweep {
 public:
  Sweep(const std::vector<Tensor>& ys, const std::vector<Tensor>& xs,
        const GradientsOptions& options, Site site, FlowRecord* record,
        std::unique_ptr<LoopGradients>& loops)
      : ys_(ys),
        xs_(xs),
        options_(options),
        site_(site),
        record_(record),
        between_(ys, xs),
        loops_(loops) {
    for (const Tensor& x : xs) {
      xs_keys_.insert(key(x));
      const auto& inputs = x.node().inputs;
      if (std::none_of(inputs.begin(), inputs.end(),
                       [&](const Tensor& input) { return between_.contains(&input.node()); })) {
        ends_.insert(&x.node());
      }
    }
    for (const GradientTarget& stop : options.stop_gradients) {
      stops_.insert(&stop.tensor().node());
    }
  }

  std::vector<OptionalGradient> run() {
    for (std::size_t i = 0; i < ys_.size(); ++i) {
      received_[key(ys_[i])].push_back(gradient_of_y(i));
    }
    if (between_.has_flow())
      sweep_flow();
    else
      for (Node* node : between_.nodes_in_reverse()) step(*node);
    std::vector<OptionalGradient> result;
    for (const Tensor& x : xs_) result.push_back(aggregated(x));
    return result;
  }

 private:
  Gradient gradient_of_y(std::size_t i) {
    const Tensor& y = ys_[i];
    const std::unique_ptr<ColocationScope> beside = colocation(y.node());
    const std::string name = fmt::format("grad_ys_{}", i);
    const bool number = is_differentiable(y.dtype()) || is_integer(y.dtype());
    const bool given = i < options_.grad_ys.size() && options_.grad_ys[i].has_value();
    if (!number && (given || y.dtype() != DType::bool_)) {
      throw TypeError(fmt::format("Tensor {} with type {} must be numeric to obtain a default "
                                  "gradient",
                                  y.name(), dtype_name(y.dtype())),
                      {.site = site_, .hint = "convert it with tf::cast, or leave it out of ys"});
    }
    if (!given) return ones(y, name);
    const Gradient& gradient = *options_.grad_ys[i];
    if (gradient.dtype() != y.dtype()) {
      throw TypeError(fmt::format("Gradient type {} generated for tensor {} of type {}",
                                  dtype_name(gradient.dtype()), y.name(), dtype_name(y.dtype())),
                      {.site = site_, .hint = "tf::cast the grad_y to the dtype of y"});
    }
    if (gradient.is_dense()) return identity(gradient.dense(), {.name = name}, site_);
    IndexedSlices slices = gradient.slices();
    slices.indices = identity(slices.indices, {.name = name + "_indices"}, site_);
    slices.values = identity(slices.values, {.name = name + "_values"}, site_);
    if (slices.dense_shape) {
      slices.dense_shape = identity(*slices.dense_shape, {.name = name + "_shape"}, site_);
    }
    return slices;
  }

  Gradient ones(const Tensor& y, const std::string& name) const {
    const Tensor shape = towerflow::shape(y, {}, site_);
    const Operand dims(shape, site_);
    OpBuilder fill("Fill", name, site_, {&dims});
    fill.input(dims, "dims");
    if (y.dtype() == DType::bool_) {
      fill.input(true, "Const", y.dtype());
    } else {
      fill.input(1, "Const", y.dtype());
    }
    Tensor made = fill.output();
    if (!made.shape().fully_known()) made.set_shape(y.shape(), site_);
    return made;
  }

  std::unique_ptr<ColocationScope> colocation(Node& node) const {
    if (!options_.colocate_gradients_with_ops) return nullptr;
    return std::make_unique<ColocationScope>(*node.graph, &node, true);
  }

  // --- branches and loops: a node is taken when all that read it have been
  // ------------------------

  using PendingCounts = std::unordered_map<const Node*, int>;

  /// Goes through the nodes as TensorFlow does (gradients_util._GradientsHelper): the nodes of a
  /// loop are reached from its Exits, all of which enter the loop of the gradients first.
  void sweep_flow() {
    Graph& graph = *between_.nodes_in_reverse().front()->graph;
    loops_ = std::make_unique<LoopGradients>(graph, site_);
    std::vector<Node*> nodes = between_.from_ys();
    std::unordered_set<const Node*> between(nodes.begin(), nodes.end());
    for (std::size_t i = 0; i < nodes.size(); ++i) {  // grows
      if (!is_loop_exit(*nodes[i])) continue;
      const std::unique_ptr<ColocationScope> beside = colocation(*nodes[i]);
      const GradientLoopState* state = loops_->add_loop(*nodes[i]);
      if (state == nullptr) continue;
      for (const Tensor& exit : state->forward_exits) {
        if (between.insert(&exit.node()).second) nodes.push_back(&exit.node());
      }
    }
    PendingCounts pending;
    for (const Node* node : nodes) {
      for (const Tensor& input : node->inputs) {
        if (between.contains(&input.node())) ++pending[&input.node()];
      }
    }
    std::unordered_set<const Node*> started;
    for (const Tensor& y : ys_) {
      Node* const node = &y.node();
      if (pending[node] == 0 && between.contains(node) && started.insert(node).second) {
        queue_.push_back(node);
      }
    }
    start_unused_exits(pending, started);
    while (!queue_.empty()) {
      Node* const node = queue_.front();
      queue_.pop_front();
      step(*node);
      for (const Tensor& input : node->inputs) {
        // The Enters of loops are counted whether or not an x leads to them.
        if (pending.contains(&input.node())) take_pending(input, pending);
      }
    }
  }

  /// Starts the loops none of whose exits will receive a gradient from outside but through a y.
  void start_unused_exits(PendingCounts& pending, const std::unordered_set<const Node*>& started) {
    std::vector<Tensor> exits;
    for (const auto& loop : loops_->loops()) {
      for (const Tensor& exit : loop->forward_exits) {
        if (pending[&exit.node()] != 0) continue;
        --loop->pending_exits;
        if (!started.contains(&exit.node())) loop->unused_exits.push_back(exit);
        if (loop->pending_exits == 0) {
          exits.insert(exits.end(), loop->unused_exits.begin(), loop->unused_exits.end());
        }
      }
      for (const Tensor& enter : loop->forward().enters) {
        int& count = pending[&enter.node()];
        if (count == 0) count = 1;
      }
    }
    for (const Tensor& exit : exits) {
      if (!is_differentiable(exit.dtype())) continue;
      received_[key(exit)] = {loops_->zeros_like_exit(exit)};
      queue_.push_back(&exit.node());
    }
  }

  void take_pending(const Tensor& input, PendingCounts& pending) {
    Node& node = input.node();
    const int left = --pending[&node];
    const bool ready = left == 0 || (left > 0 && is_loop_switch(node));
    if (!ready) return;
    if (!is_loop_exit(node)) return queue_.push_back(&node);
    GradientLoopState& loop = *loops_->state_of(node, false);
    loop.deferred_exits.push_back(input);
    if (--loop.pending_exits > 0) return;
    bool any = false;
    for (const Tensor& exit : loop.deferred_exits) {
      if (received_.contains(key(exit))) {
        any = true;
        queue_.push_back(&exit.node());
      } else {
        loop.unused_exits.push_back(exit);
      }
    }
    for (const Tensor& exit : loop.unused_exits) {
      if (any && is_differentiable(exit.dtype())) {
        received_[key(exit)] = {loops_->zeros_like_exit(exit)};
      }
      queue_.push_back(&exit.node());
    }
  }

  /// Returns the loop of the gradients of a node in a loop, for other nodes what is open.
  ControlFlowContext* gradient_context(const Node& node, bool before) const {
    const GradientLoopState* state = loops_ == nullptr ? nullptr : loops_->state_of(node, before);
    return state != nullptr ? &state->backward() : node.graph->scopes().context;
  }

  /// Throws ValueError if the gradient of a loop's initial value is asked for inside the loop.
  void check_initial_value(const Node& node) const {
    if (!is_switch(node) || node.context == nullptr || !node.context->is_while()) return;
    if (!is_containing_context(node.graph->scopes().context, node.context)) return;
    throw ValueError(
        fmt::format("Cannot compute gradient inside while loop with respect to op '{}'. We do not "
                    "support taking the gradient wrt or through the initial value of a loop "
                    "variable. Gradients can be computed through loop invariants or wrt the input "
                    "parameters to the loop body.",
                    xs_.empty() ? node.name : xs_[0].op().name()),
        {.site = site_, .node = node.name, .op = node.op->name});
  }

  void step(Node& node) {
    const std::unique_ptr<ColocationScope> beside = colocation(node);
    std::vector<OptionalGradient> dys;
    bool any = false;
    {
      const ContextScope before(*node.graph, gradient_context(node, true));
      for (std::size_t i = 0; i < node.outputs.size(); ++i) {
        dys.push_back(aggregated(Tensor(&node, static_cast<int>(i))));
        any = any || dys.back().has_value();
      }
    }
    const ContextScope inside(*node.graph, gradient_context(node, false));
    check_initial_value(node);
    if (!any || ends_.contains(&node)) return;
    FlowRecord::Step seen;
    seen.stopped = stops_.contains(&node);
    if (!seen.stopped) backpropagate(node, dys, seen);
    if (record_ != nullptr) record_->steps[&node] = std::move(seen);
  }

  void backpropagate(Node& node, std::vector<OptionalGradient>& dys, FlowRecord::Step& seen) {
    const OpGradient* gradient = gradient_function(node);
    if (gradient == nullptr) {
      seen.undefined = true;
      if (record_ != nullptr) return;
      throw_no_gradient_defined(node, site_);
    }
    const auto* rule = std::get_if<GradientRule>(gradient);
    if (rule == nullptr) return;  // why_none reports the reason
    fill_in_zeros(node, gradient != &node.op->gradient, dys);
    for (std::size_t i = 0; i < dys.size(); ++i) check_fits(node, i, dys[i]);
    const NameScope scope(*node.graph, node.name + "_grad", site_);
    std::vector<OptionalGradient> dxs = call(*rule, node, dys);
    if (dxs.size() != node.inputs.size()) {
      throw ValueError(
          fmt::format("Num gradients {} generated for op {} do not match num inputs {}", dxs.size(),
                      node.name, node.inputs.size()),
          {.site = site_, .node = node.name, .op = node.op->name});
    }
    if (options_.gate_gradients) gate(*node.graph, dxs);
    for (std::size_t i = 0; i < dxs.size(); ++i) {
      seen.passed_gradient.push_back(dxs[i].has_value());
      if (!dxs[i]) continue;
      if (dxs[i]->is_dense()) take_shape(dxs[i]->dense(), node, i);
      received_[key(node.inputs[i])].push_back(*dxs[i]);
    }
  }

  /// Calls a rule, which may be the program's: its exceptions are reported like those of kernels.
  std::vector<OptionalGradient> call(const GradientRule& rule, Node& node,
                                     const std::vector<OptionalGradient>& dys) const {
    try {
      return rule(Operation(&node), dys);
    } catch (...) {
      rethrow_with(
          {.site = node.site,
           .node = node.name,
           .op = node.op->name,
           .hint =
               "thrown by its gradient function, which gradients or compute_gradients called at " +
               site_.text()});
    }
  }

  /// Throws ValueError for a gradient that can be neither broadcast nor reshaped to the output's
  /// shape.
  void check_fits(const Node& node, std::size_t i, const OptionalGradient& dy) const {
    if (!dy || !dy->is_dense()) return;
    const Shape& given = dy->dense().shape();
    const Shape& wanted = node.outputs[i].shape;
    if (!given.fully_known() || !wanted.fully_known()) return;
    if (given.elements() == wanted.elements() || broadcast_shapes(given, wanted) == wanted) return;
    throw ValueError(
        fmt::format("The gradient of '{}:{}' has the shape {}, but the tensor has the shape {}",
                    node.name, i, given.text(), wanted.text()),
        {.site = site_,
         .node = node.name,
         .op = node.op->name,
         .hint = "each tensor in grad_ys must have the shape of its y"});
  }

  /// Fills in zeros, as TensorFlow does, for outputs that received nothing although another output
  /// did: if the rule is not the op's own (`foreign`), or if the output is one of the xs.
  void fill_in_zeros(Node& node, bool foreign, std::vector<OptionalGradient>& dys) {
    if (is_switch(node)) return fill_in_switch(node, dys);
    for (std::size_t i = 0; i < dys.size(); ++i) {
      const Tensor output(&node, static_cast<int>(i));
      if (dys[i] || !is_differentiable(output.dtype())) continue;
      const bool asked = xs_keys_.contains(key(output));
      if (!foreign && !asked) continue;
      dys[i] = zeros_like(output, {}, site_);
      if (asked) received_[key(output)] = {*dys[i]};
    }
  }

  /// A Switch passes its gradients to a Merge, one input of which must exist.
  void fill_in_switch(Node& node, std::vector<OptionalGradient>& dys) const {
    if (is_loop_switch(node)) return;
    for (int i = 0; i < 2; ++i) {
      OptionalGradient& dy = dys[static_cast<std::size_t>(i)];
      if (dy || !is_differentiable(node.outputs[static_cast<std::size_t>(i)].dtype)) continue;
      const Operation op(&node);
      dy = loops_ != nullptr ? loops_->zeros_like_switch(op, i) : zeros_like_switch(op, i, site_);
    }
  }

  void gate(Graph& graph, std::vector<OptionalGradient>& dxs) const {
    if (std::count_if(dxs.begin(), dxs.end(), [](const auto& dx) { return dx.has_value(); }) < 2) {
      return;
    }
    const ColocationScope anywhere(graph, nullptr, true);
    dxs = tuple(dxs, {}, site_);
  }

  void take_shape(Tensor gradient, const Node& node, std::size_t i) const {
    try {
      gradient.set_shape(node.inputs[i].shape(), site_);
    } catch (const ValueError&) {
      throw ValueError(
          fmt::format("Incompatible shapes between op input and calculated input gradient. "
                      "Forward operation: {}. Input index: {}. Original input shape: {}. "
                      "Calculated input gradient shape: {}",
                      node.name, i, node.inputs[i].shape().text(), gradient.shape().text()),
          {.site = site_, .node = node.name, .op = node.op->name});
    }
  }

  /// Returns the sum of what a tensor has received; the sum replaces its parts.
  OptionalGradient aggregated(const Tensor& tensor) {
    const auto it = received_.find(key(tensor));
    if (it == received_.end()) return std::nullopt;
    it->second = {
        aggregate_gradients(it->second, tensor.op().name(), options_.aggregation_method, site_)};
    return it->second.front();
  }

  const std::vector<Tensor>& ys_;
  const std::vector<Tensor>& xs_;
  const GradientsOptions& options_;
  Site site_;
  FlowRecord* record_;
  NodesBetween between_;
  std::set<TensorKey> xs_keys_;            // the xs
  std::unordered_set<const Node*> ends_;   // nodes of xs behind which there is no other x
  std::unordered_set<const Node*> stops_;  // the call's stop_gradients
  std::map<TensorKey, std::vector<Gradient>> received_;
  std::unique_ptr<LoopGradients>& loops_;  // made if there are branches or loops
  std::deque<Node*> queue_;                // then: nodes that may be taken
};

}  // namespace

NodesBetween::NodesBetween(const std::vector<Tensor>& ys, const std::vector<Tensor>& xs) {
  std::unordered_set<const Node*> seen, reached;
  std::vector<Node*> ancestors;
  for (const Tensor& y : ys) {
    add_ancestors(&y.node(), seen, ancestors, [](const Node*) { return true; });
  }
  const auto by_id = [](const Node* a, const Node* b) { return a->id < b->id; };
  std::sort(ancestors.begin(), ancestors.end(), by_id);  // inputs before consumers
  for (const Tensor& x : xs) reached.insert(&x.node());
  const auto reach = [&](const Node* node) {
    const bool now =
        std::any_of(node->inputs.begin(), node->inputs.end(), [&](const Tensor& input) {
          return is_differentiable(input.dtype()) && reached.contains(&input.node());
        });
    return now && reached.insert(node).second;
  };
  const bool loops = std::any_of(ancestors.begin(), ancestors.end(),
                                 [](const Node* node) { return is_loop_exit(*node); });
  for (bool changed = true; changed;) {  // once, unless the back edge of a loop reaches a node
    changed = false;
    for (const Node* node : ancestors) changed = reach(node) || changed;
    changed = changed && loops;
  }
  // Keep the reached nodes from which a y is reached through reached nodes.
  for (const Tensor& y : ys) {
    add_ancestors(&y.node(), between_, order_,
                  [&](const Node* node) { return reached.contains(node); });
  }
  has_flow_ = std::any_of(order_.begin(), order_.end(), [](const Node* node) {
    return is_loop_exit(*node) || is_merge(*node) || is_switch(*node);
  });
  if (has_flow_) {
    // In the order in which TensorFlow finds them.
    std::unordered_set<const Node*> found;
    std::deque<Node*> queue;
    for (const Tensor& y : ys) queue.push_back(&y.node());
    while (!queue.empty()) {
      Node* const node = queue.front();
      queue.pop_front();
      if (!between_.contains(node) || !found.insert(node).second) continue;
      from_ys_.push_back(node);
      for (const Tensor& input : node->inputs) queue.push_back(&input.node());
    }
  }
  std::sort(order_.rbegin(), order_.rend(), by_id);
}

void add_copies(GradientTargets& targets) {
  const std::size_t given = targets.size();
  for (std::size_t i = 0; i < given; ++i) {
    for (const Tensor& copy : copies_of(targets[i].tensor())) targets.emplace_back(copy);
  }
}

std::vector<OptionalGradient> sweep(const std::vector<Tensor>& ys, const std::vector<Tensor>& xs,
                                    const GradientsOptions& options, Site site,
                                    std::unique_ptr<LoopGradients>& loops, FlowRecord* record) {
  return Sweep(ys, xs, options, site, record, loops).run();
}

}  // namespace towerflow
