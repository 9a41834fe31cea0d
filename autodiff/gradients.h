#pragma once

#include <concepts>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/graph/gradient.h"
#include "ops/operand_list.h"
#include "ops/variables/variable.h"

namespace towerflow::types {

/// What to differentiate with respect to, or where gradients stop: a tensor, a variable's storage,
/// or a present gradient.
class GradientTarget {
 public:
  GradientTarget(Tensor tensor) : tensor_(tensor) {}                     // NOLINT: {x, w}
  GradientTarget(const Variable& variable) : tensor_(variable.ref()) {}  // NOLINT
  template <GradientLike T>
  GradientTarget(const T& gradient, Site site = Site::current())  // NOLINT: grads[0]
      : GradientTarget(PresentGradient(gradient, site)) {}

  /// Returns the tensor at which gradients stop; for slices, their values.
  const Tensor& tensor() const { return tensor_; }
  /// Returns the tensor to differentiate with respect to. Throws TypeError for slices.
  const Tensor& differentiable() const;

 private:
  explicit GradientTarget(const PresentGradient& gradient);

  Tensor tensor_;
  std::shared_ptr<const PresentGradient> slices_;
};

/// A list of targets, or a single one.
struct GradientTargets : std::vector<GradientTarget> {
  GradientTargets() = default;
  GradientTargets(std::initializer_list<GradientTarget> targets)  // NOLINT: {x, w}
      : std::vector<GradientTarget>(targets) {}
  template <std::convertible_to<GradientTarget> T>
  GradientTargets(const T& target, Site site = Site::current()) {  // NOLINT: x
    add(target, site);
  }
  template <std::convertible_to<GradientTarget> T>
  GradientTargets(const std::vector<T>& targets, Site site = Site::current()) {  // NOLINT: grads
    for (const T& target : targets) add(target, site);
  }

 private:
  template <class T>
  void add(const T& target, Site site) {
    if constexpr (GradientLike<T>)
      emplace_back(target, site);
    else
      push_back(target);
  }
};

/// How the parts of one gradient are added up. (tf.AggregationMethod)
enum class AggregationMethod {
  ADD_N = 0,  ///< one AddN per device, then one AddN of their results
  DEFAULT = ADD_N,
  EXPERIMENTAL_TREE = 1,          ///< a chain of AddN, two tensors at a time
  EXPERIMENTAL_ACCUMULATE_N = 2,  ///< the same
};

/// What `gradients` returns if no path leads from ys to an x.
enum class UnconnectedGradients {
  none,  ///< an absent gradient
  zero,  ///< zeros of the shape of x, for variables too
};

struct GradientsOptions {
  GradientList grad_ys{};  ///< one for each y; ones if absent or not given
  std::string name = "gradients";
  bool colocate_gradients_with_ops = false;
  /// No gradient of an op's inputs is used before all of them are computed.
  bool gate_gradients = false;
  AggregationMethod aggregation_method = AggregationMethod::DEFAULT;
  GradientTargets stop_gradients{};  ///< tensors to treat as constants
  UnconnectedGradients unconnected_gradients = UnconnectedGradients::none;
};

}  // namespace towerflow::types

namespace towerflow {

/// Appends the nodes that compute the sum over ys of dy/dx for each x, and returns one entry per x:
/// absent if no path leads to it; `why_none` gives the reason. If x is a variable with copies that
/// programs read in its place (StagedVariables), dy/dx includes the gradients of the copies.
///
/// shapes   ys [...], xs [...] -> shape of each x
/// dtypes   floating; no gradient flows through integers, except from an integer y to itself
/// grads    the result consists of ordinary nodes and can be differentiated again
/// errors   ValueError: wrong number or shape of grad_ys, tensors of several graphs; TypeError: a y
///          or a grad_y that is not a number, a y or x that is slices; LookupError: an op whose
///          gradient is not defined
/// source   tf.gradients
std::vector<OptionalGradient> gradients(const OperandList& ys, std::span<const GradientTarget> xs,
                                        GradientsOptions options = {}, Site site = Site::current());
inline std::vector<OptionalGradient> gradients(const OperandList& ys,
                                               std::initializer_list<GradientTarget> xs,
                                               GradientsOptions options = {},
                                               Site site = Site::current()) {
  return gradients(ys, std::span(xs.begin(), xs.size()), std::move(options), site);
}
/// With respect to a list of tensors or variables, `gradients(loss, trainable_variables())`, or to
/// a single one.
template <class X>
requires std::constructible_from<GradientTargets, const X&, Site> std::vector<OptionalGradient>
gradients(const OperandList& ys, const X& xs, GradientsOptions options = {},
          Site site = Site::current()) {
  const GradientTargets targets(xs, site);
  return gradients(ys, std::span<const GradientTarget>(targets), std::move(options), site);
}

}  // namespace towerflow
