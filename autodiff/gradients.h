#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "core/graph/tensor.h"
#include "ops/variables/variable.h"

namespace towerflow::types {

/// What a gradient is taken with respect to: a tensor, or a variable's storage.
class GradientTarget {
 public:
  GradientTarget(Tensor tensor) : tensor_(tensor) {}                     // NOLINT: {x, w}
  GradientTarget(const Variable& variable) : tensor_(variable.ref()) {}  // NOLINT
  const Tensor& tensor() const { return tensor_; }

 private:
  Tensor tensor_;
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
  std::vector<OptionalGradient> grad_ys{};  ///< one for each y; ones where absent or not given
  std::string name = "gradients";
  bool colocate_gradients_with_ops = false;
  /// The gradients of an op's inputs wait for one another: none is used before all are there.
  bool gate_gradients = false;
  AggregationMethod aggregation_method = AggregationMethod::DEFAULT;
  std::vector<GradientTarget> stop_gradients{};  ///< tensors to take as constants
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
///          or a grad_y that is not a number; LookupError: an op whose gradient is not defined
/// source   tf.gradients
std::vector<OptionalGradient> gradients(const std::vector<Tensor>& ys,
                                        std::span<const GradientTarget> xs,
                                        GradientsOptions options = {}, Site site = Site::current());
inline std::vector<OptionalGradient> gradients(const std::vector<Tensor>& ys,
                                               std::initializer_list<GradientTarget> xs,
                                               GradientsOptions options = {},
                                               Site site = Site::current()) {
  return gradients(ys, std::span(xs.begin(), xs.size()), std::move(options), site);
}
inline std::vector<OptionalGradient> gradients(Tensor y, std::initializer_list<GradientTarget> xs,
                                               GradientsOptions options = {},
                                               Site site = Site::current()) {
  return gradients(std::vector<Tensor>{y}, xs, std::move(options), site);
}
/// With respect to a list of tensors or of variables: `gradients(loss, trainable_variables())`.
template <class X>
requires std::convertible_to<const X&, GradientTarget> std::vector<OptionalGradient> gradients(
    Tensor y, const std::vector<X>& xs, GradientsOptions options = {},
    Site site = Site::current()) {
  return gradients(std::vector<Tensor>{y}, std::vector<GradientTarget>(xs.begin(), xs.end()),
                   std::move(options), site);
}
/// With respect to one tensor or variable.
template <std::convertible_to<GradientTarget> X>
std::vector<OptionalGradient> gradients(Tensor y, const X& x, GradientsOptions options = {},
                                        Site site = Site::current()) {
  return gradients(std::vector<Tensor>{y}, std::vector<GradientTarget>{x}, std::move(options),
                   site);
}

}  // namespace towerflow
