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

/// What a gradient is taken with respect to, or stops at: a tensor, a variable's storage, or a
/// gradient that is there.
class GradientTarget {
 public:
  GradientTarget(Tensor tensor) : tensor_(tensor) {}                     // NOLINT: {x, w}
  GradientTarget(const Variable& variable) : tensor_(variable.ref()) {}  // NOLINT
  template <GradientLike T>
  GradientTarget(const T& gradient, Site site = Site::current())  // NOLINT: grads[0]
      : GradientTarget(PresentGradient(gradient, site)) {}

  /// Of slices their values: where gradients stop.
  const Tensor& tensor() const { return tensor_; }
  /// What to differentiate with respect to; TypeError for slices.
  const Tensor& differentiable() const;

 private:
  explicit GradientTarget(const PresentGradient& gradient);

  Tensor tensor_;
  std::shared_ptr<const PresentGradient> slices_;
};

/// Several of them, or one.
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
  ADD_N = 0,  ///< by one AddN for each device that holds some
  DEFAULT = ADD_N,
  EXPERIMENTAL_TREE = 1,          ///< by one AddN after the other, two at a time
  EXPERIMENTAL_ACCUMULATE_N = 2,  ///< the same
};

/// What `gradients` returns where no path leads from ys to an x.
enum class UnconnectedGradients {
  none,  ///< an absent gradient
  zero,  ///< zeros of the shape of x, of a variable too
};

struct GradientsOptions {
  GradientList grad_ys{};  ///< one for each y; ones where absent or not given
  std::string name = "gradients";
  bool colocate_gradients_with_ops = false;
  /// The gradients of an op's inputs wait for one another: none is used before all are there.
  bool gate_gradients = false;
  AggregationMethod aggregation_method = AggregationMethod::DEFAULT;
  GradientTargets stop_gradients{};  ///< tensors to take as constants
  UnconnectedGradients unconnected_gradients = UnconnectedGradients::none;
};

}  // namespace towerflow::types

namespace towerflow {

/// Appends the nodes that compute the sum over ys of dy/dx for each x, and returns one entry per x:
/// absent where no path leads to it; `why_none` says why.
///
/// shapes   ys [...], xs [...] -> shape of each x
/// dtypes   floating; paths through integers carry no gradient, but an integer y has one of itself
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
/// one alone.
template <class X>
requires std::constructible_from<GradientTargets, const X&, Site> std::vector<OptionalGradient>
gradients(const OperandList& ys, const X& xs, GradientsOptions options = {},
          Site site = Site::current()) {
  const GradientTargets targets(xs, site);
  return gradients(ys, std::span<const GradientTarget>(targets), std::move(options), site);
}

}  // namespace towerflow
