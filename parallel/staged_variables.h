#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ops/variables/variable_scope.h"

namespace towerflow::parallel::types {

/// Copies of the trainable variables as they were before the latest update: a tower that reads them
/// need not wait until the update has reached it. (--staged_vars of tf_cnn_benchmarks)
///
///     tf::parallel::StagedVariables staged;
///     Tensor loss;
///     {
///       const auto getter = staged.getter(0, "/gpu:0");
///       const auto scope = tf::variable_scope("net", {.custom_getter = getter});
///       loss = build(x);
///     }
///     const auto grads = opt.compute_gradients(loss);
///     const auto refresh = staged.refresh();
///     const auto step = tf::group({opt.apply_gradients(grads), refresh});
///
/// A copy is a local variable `w/staged`, which begins with the value of `w`; gradients with
/// respect to `w` include those with respect to its copies. Objects of this class that are copied
/// share their variables.
class StagedVariables {
 public:
  StagedVariables();

  /// Returns a getter for the variable scope of a tower. A trainable variable that it returns reads
  /// the tower's copy, on `device` ("" for the device that is open), and is the variable itself in
  /// all else: name, storage, initializer. Other variables are not staged.
  ///
  /// errors   of `get_variable`: NotImplementedError, a partitioned variable; ValueError, a
  ///          variable whose shape is not fully known
  CustomGetter getter(int tower, const std::string& device) const;

  /// Returns the operation that copies the variables; every step must run it. Call it once, after
  /// `compute_gradients` and before `apply_gradients`: the plan orders reads and writes of a
  /// variable as they were added.
  ///
  /// errors   ValueError: no variable is staged
  Operation refresh(Site site = Site::current()) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace towerflow::parallel::types
