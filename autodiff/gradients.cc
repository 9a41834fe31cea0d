#include "autodiff/gradients.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <unordered_set>

#include "autodiff/aggregate.h"
#include "core/graph/op_builder.h"
#include "core/graph/op_def.h"
#include "ops/array/shape_of.h"

namespace towerflow {
namespace {

using TensorKey = std::pair<Node*, int>;

TensorKey key(const Tensor& tensor) { return {&tensor.node(), tensor.index()}; }

/// The nodes from which gradients flow: ancestors of ys that xs reach through floating tensors.
class Between {
 public:
  Between(const std::vector<Tensor>& ys, const std::vector<Tensor>& xs) {
    std::set<Node*, ById> ancestors;
    std::vector<Node*> stack;
    const auto visit = [&](Node* node) {
      if (ancestors.insert(node).second) stack.push_back(node);
    };
    for (const Tensor& y : ys) visit(&y.node());
    while (!stack.empty()) {
      Node* node = stack.back();
      stack.pop_back();
      for (const Tensor& input : node->inputs) visit(&input.node());
    }
    for (const Tensor& x : xs) reached_.insert(&x.node());
    for (Node* node : ancestors) {  // in tape order: inputs before consumers
      if (reached_.contains(node)) continue;
      for (const Tensor& input : node->inputs) {
        if (reached_.contains(&input.node()) && is_differentiable(input.dtype())) {
          reached_.insert(node);
          break;
        }
      }
    }
    // Of the reached ones those count from which a y is reached through reached nodes.
    for (const Tensor& y : ys) {
      if (reached_.contains(&y.node())) collect(&y.node());
    }
    order_.assign(between_.begin(), between_.end());
    std::reverse(order_.begin(), order_.end());
  }

  bool contains(Node* node) const { return between_.contains(node); }
  /// Consumers before their inputs.
  const std::vector<Node*>& backwards() const { return order_; }

 private:
  struct ById {
    bool operator()(const Node* a, const Node* b) const { return a->id < b->id; }
  };

  void collect(Node* start) {
    std::vector<Node*> stack;
    if (between_.insert(start).second) stack.push_back(start);
    while (!stack.empty()) {
      Node* node = stack.back();
      stack.pop_back();
      for (const Tensor& input : node->inputs) {
        Node* from = &input.node();
        if (reached_.contains(from) && between_.insert(from).second) stack.push_back(from);
      }
    }
  }

  std::unordered_set<Node*> reached_;
  std::set<Node*, ById> between_;
  std::vector<Node*> order_;
};

class Sweep {
 public:
  Sweep(const std::vector<Tensor>& ys, const std::vector<Tensor>& xs,
        const GradientsOptions& options, Site site)
      : ys_(ys), xs_(xs), options_(options), site_(site), between_(ys, xs) {}

  std::vector<OptionalGradient> run() {
    seed();
    for (Node* node : between_.backwards()) step(*node);
    std::vector<OptionalGradient> result;
    for (const Tensor& x : xs_) result.push_back(finished(x));
    return result;
  }

 private:
  void seed() {
    for (std::size_t i = 0; i < ys_.size(); ++i) {
      const Tensor& y = ys_[i];
      const bool given = i < options_.grad_ys.size() && options_.grad_ys[i].has_value();
      const bool number = is_differentiable(y.dtype()) || is_integer(y.dtype());
      if (!number && y.dtype() != DType::bool_) {
        throw TypeError(fmt::format("Gradients of tensors must be of numbers, {} is {}", y.name(),
                                    dtype_name(y.dtype())),
                        {.site = site_, .hint = "tf::cast it before, or leave it out of ys"});
      }
      received_[key(y)].push_back(given ? checked(*options_.grad_ys[i], y) : ones(y, i));
    }
  }

  Gradient checked(const Gradient& gradient, const Tensor& y) const {
    if (gradient.dtype() != y.dtype()) {
      throw TypeError(fmt::format("Gradient type {} generated for tensor {} of type {}",
                                  dtype_name(gradient.dtype()), y.name(), dtype_name(y.dtype())),
                      {.site = site_});
    }
    return gradient;
  }

  Gradient ones(const Tensor& y, std::size_t index) const {
    const Tensor shape = towerflow::shape(y, {}, site_);
    const std::string name = fmt::format("grad_ys_{}", index);
    OpBuilder fill("Fill", name, site_, {&operand(shape)});
    fill.input(shape, "dims");
    if (y.dtype() == DType::bool_) {
      fill.input(true, "Const", y.dtype());
    } else {
      fill.input(1, "Const", y.dtype());
    }
    return fill.output();
  }

  /// Keeps an Operand alive for the call that names its graph.
  const Operand& operand(const Tensor& tensor) const {
    operand_ = std::make_unique<Operand>(tensor, site_);
    return *operand_;
  }

  bool is_stop(Node& node) const {
    for (const Tensor& stop : options_.stop_gradients) {
      if (&stop.node() == &node) return true;
    }
    const bool is_x =
        std::any_of(xs_.begin(), xs_.end(), [&](const Tensor& x) { return &x.node() == &node; });
    if (!is_x) return false;
    return std::none_of(node.inputs.begin(), node.inputs.end(),
                        [&](const Tensor& input) { return between_.contains(&input.node()); });
  }

  void step(Node& node) {
    std::unique_ptr<ColocationScope> colocation;
    if (options_.colocate_gradients_with_ops) {
      colocation = std::make_unique<ColocationScope>(*node.graph, &node, true);
    }
    std::vector<OptionalGradient> dys;
    bool any = false;
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      dys.push_back(aggregated(Tensor(&node, static_cast<int>(i))));
      any = any || dys.back().has_value();
    }
    if (!any || is_stop(node)) return;
    const auto* rule = std::get_if<GradientRule>(&node.op->gradient);
    if (rule == nullptr) return;  // its reason is what why_none tells

    const NameScope scope(*node.graph, node.name + "_grad", site_);
    const std::vector<OptionalGradient> dxs = (*rule)(Operation(&node), dys);
    if (dxs.size() != node.inputs.size()) {
      throw ValueError(
          fmt::format("Num gradients {} generated for op {} do not match num inputs {}", dxs.size(),
                      node.name, node.inputs.size()),
          {.site = site_, .node = node.name, .op = node.op->name});
    }
    for (std::size_t i = 0; i < dxs.size(); ++i) {
      if (!dxs[i]) continue;
      if (dxs[i]->is_dense()) {
        try {
          dxs[i]->dense().set_shape(node.inputs[i].shape(), site_);
        } catch (const ValueError&) {
          throw ValueError(
              fmt::format("Incompatible shapes between op input and calculated input gradient. "
                          "Forward operation: {}. Input index: {}. Original input shape: {}. "
                          "Calculated input gradient shape: {}",
                          node.name, i, node.inputs[i].shape().text(),
                          dxs[i]->dense().shape().text()),
              {.site = site_, .node = node.name, .op = node.op->name});
        }
      }
      received_[key(node.inputs[i])].push_back(*dxs[i]);
    }
  }

  /// What a tensor has received, added up; the sum replaces its parts.
  OptionalGradient aggregated(const Tensor& tensor) {
    const auto it = received_.find(key(tensor));
    if (it == received_.end()) return std::nullopt;
    if (it->second.size() > 1) {
      it->second = {aggregate_gradients(it->second, site_)};
    }
    return it->second.front();
  }

  OptionalGradient finished(const Tensor& x) {
    OptionalGradient gradient = aggregated(x);
    if (!gradient && options_.unconnected_gradients == UnconnectedGradients::zero) {
      OpBuilder zeros("ZerosLike", "zeros_like", site_, {&operand(x)});
      return zeros.input(x, "x").output();
    }
    return gradient;
  }

  const std::vector<Tensor>& ys_;
  const std::vector<Tensor>& xs_;
  const GradientsOptions& options_;
  Site site_;
  Between between_;
  std::map<TensorKey, std::vector<Gradient>> received_;
  mutable std::unique_ptr<Operand> operand_;
};

}  // namespace

std::vector<OptionalGradient> gradients(const std::vector<Tensor>& ys,
                                        const std::vector<GradientTarget>& xs,
                                        GradientsOptions options, Site site) {
  std::vector<Tensor> targets;
  for (const GradientTarget& x : xs) targets.push_back(x.tensor());
  if (!options.grad_ys.empty() && options.grad_ys.size() != ys.size()) {
    throw ValueError(
        fmt::format("Length mismatch. {} grad_ys for {} ys", options.grad_ys.size(), ys.size()),
        {.site = site});
  }
  if (ys.empty()) return std::vector<OptionalGradient>(xs.size());
  const NameScope scope(ys[0].graph(), options.name.empty() ? "gradients" : options.name, site);
  return Sweep(ys, targets, options, site).run();
}

}  // namespace towerflow
