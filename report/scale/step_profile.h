#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/runtime/session.h"

namespace towerflow::report {

/// A gradient of a tower's step, and the variable that it changes, which has the same size.
struct ProfiledGradient {
  std::string name;
  double bytes = 0;
  double needed = 0;  ///< seconds of computation before the step reads the variable
  double ready = 0;   ///< seconds of computation after which the gradient exists
};

/// What one tower computes in a step.
struct StepProfile {
  std::string name;
  double examples = 0;                      ///< of a tower in a step
  double compute = 0;                       ///< seconds of forward and backward pass
  std::vector<ProfiledGradient> gradients;  ///< in the order in which they become ready

  double bytes() const;
  /// Returns the profile for an accelerator `factor` times as fast.
  StepProfile faster(double factor) const;
};

/// Throws ValueError for a profile without examples or computation, with sizes that are not
/// positive, or with gradients that are out of order or outside the step.
void check(const StepProfile& profile);

/// Returns the profile of a traced step of one tower on a simulated accelerator, whose variables
/// are in the host's memory: each gradient leaves the device when it is ready, in the order of
/// readiness. The copies of the traced session should take no time, so that none delays another.
StepProfile profile_of_trace(const RunMetadata& step, const std::string& name, double examples);

/// A layer of a network with a weight, in the order of the forward pass.
struct ProfiledLayer {
  double elements = 0;    ///< of its variables
  double operations = 0;  ///< for one example, forward
};

/// Returns a profile made from figures: a step of `compute` seconds of a network of `layers`. The
/// backward pass does twice the operations of the forward pass, as it computes two products for
/// each of the forward pass, and an operation takes the same time in every layer.
StepProfile profile_of_layers(const std::string& name, double examples, double compute,
                              const std::vector<ProfiledLayer>& layers);

}  // namespace towerflow::report
