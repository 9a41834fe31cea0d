#pragma once

#include <string>
#include <vector>

#include "train/optimizer.h"

namespace towerflow::parallel::types {

/// Gradients that a step computes and the next step applies, so that their exchange does not wait
/// for the backward pass. The first step applies zeros. (--variable_consistency relaxed)
///
///     tf::parallel::DeferredGradients deferred;
///     const auto grads = deferred.previous(opt.compute_gradients(loss));
///     const auto update = opt.apply_gradients(grads);
///     const auto step = tf::group({update, deferred.keep()});
///
/// Where the optimizer is out of reach, `previous` is a function for GradientChanges::computed. A
/// gradient is kept in a local variable on its device, `deferred/w`; checkpoints do not have it.
class DeferredGradients {
 public:
  /// Returns the gradients that the step before computed, for pairs that this step computes. Absent
  /// gradients stay absent; slices stay slices.
  ///
  /// errors   ValueError: a gradient, or slices, whose shape is not fully known
  std::vector<GradAndVar> previous(const std::vector<GradAndVar>& computed,
                                   Site site = Site::current());
  /// Returns the value that a tensor had in the step before, zeros in the first step, for what
  /// belongs to gradients, such as the weight of a tower. `name` names the local variable.
  Tensor previous_value(const Tensor& value, const std::string& name, Site site = Site::current());

  /// Returns the operation that keeps what this step computes; every step must run it. Call it
  /// after `apply_gradients`: the plan orders reads and writes of a variable as they were added.
  ///
  /// errors   ValueError: there is nothing to keep
  Operation keep(Site site = Site::current());

 private:
  struct Kept {
    Variable variable;
    Tensor value;  ///< of this step
  };
  std::vector<Kept> kept_;
};

}  // namespace towerflow::parallel::types
