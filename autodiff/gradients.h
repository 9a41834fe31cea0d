#pragma once

#include <string>
#include <vector>

#include "core/graph/tensor.h"
#include "ops/variables/variable.h"

namespace towerflow {

/// What a gradient is taken with respect to: a tensor, or a variable's storage.
class GradientTarget {
 public:
  GradientTarget(Tensor tensor) : tensor_(tensor) {}                     // NOLINT: {x, w}
  GradientTarget(const Variable& variable) : tensor_(variable.ref()) {}  // NOLINT
  const Tensor& tensor() const { return tensor_; }

 private:
  Tensor tensor_;
};

/// What `gradients` returns where no path leads from ys to an x.
enum class UnconnectedGradients { none, zero };

struct GradientsOptions {
  std::vector<OptionalGradient> grad_ys{};  ///< one for each y; ones where absent or not given
  std::string name = "gradients";
  bool colocate_gradients_with_ops = false;
  std::vector<Tensor> stop_gradients{};  ///< tensors to take as constants
  UnconnectedGradients unconnected_gradients = UnconnectedGradients::none;
};

/// Appends the nodes that compute the sum over ys of dy/dx for each x, and returns one entry per x:
/// absent where no path leads to it.
///
/// shapes   ys [...], xs [...] -> shape of each x
/// dtypes   floating; paths through integers carry no gradient, but an integer y has one of itself
/// grads    the result consists of ordinary nodes and can be differentiated again
/// errors   ValueError: wrong number or shape of grad_ys; TypeError: a y that is not a number
/// source   tf.gradients
std::vector<OptionalGradient> gradients(const std::vector<Tensor>& ys,
                                        const std::vector<GradientTarget>& xs,
                                        GradientsOptions options = {}, Site site = Site::current());
inline std::vector<OptionalGradient> gradients(Tensor y, const std::vector<GradientTarget>& xs,
                                               GradientsOptions options = {},
                                               Site site = Site::current()) {
  return gradients(std::vector<Tensor>{y}, xs, std::move(options), site);
}

}  // namespace towerflow
