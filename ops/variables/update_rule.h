#pragma once

namespace towerflow {

/// How an optimizer changes one element of a variable and its slots, given the gradient there.
/// One rule serves the dense update, the fused mean-and-update of towers, and sparse rows.

/// variable -= rate * gradient  (tf.raw_ops.ApplyGradientDescent)
template <class T>
struct GradientDescentRule {
  T rate;
  void operator()(T& variable, T gradient) const { variable -= rate * gradient; }
};

/// slot = momentum * slot + gradient; variable -= rate * slot, or with Nesterov's look ahead
/// variable -= rate * gradient + rate * momentum * slot  (tf.raw_ops.ApplyMomentum)
template <class T>
struct MomentumRule {
  T rate;
  T momentum;
  bool nesterov;
  void operator()(T& variable, T& slot, T gradient) const {
    slot = slot * momentum + gradient;
    if (nesterov) {
      variable -= gradient * rate + slot * momentum * rate;
    } else {
      variable -= slot * rate;
    }
  }
};

}  // namespace towerflow
