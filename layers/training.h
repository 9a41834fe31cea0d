#pragma once

#include <concepts>
#include <optional>

#include "layers/activation.h"
#include "ops/control/cond.h"

namespace towerflow::layers::types {

/// Whether a layer acts as in training: a bool, or a scalar bool tensor such as a placeholder, by
/// which each run decides in a `tf::cond`. A constant tensor is taken for its value.
class Training {
 public:
  template <std::same_as<bool> T>
  Training(T training) : value_(training) {}  // NOLINT: {.training = true}
  template <std::convertible_to<Tensor> T>
  Training(const T& training)  // NOLINT: {.training = placeholder}
      : Training(Tensor(training), known_value(training)) {}

  /// Returns the decision, nullopt if runs decide by `tensor`.
  std::optional<bool> value() const { return value_; }
  const Tensor& tensor() const { return tensor_; }
  bool may_be(bool training) const { return value_.value_or(training) == training; }

 private:
  Training(const Tensor& tensor, std::optional<bool> value) : value_(value), tensor_(tensor) {}
  static std::optional<bool> known_value(const Tensor& training);

  std::optional<bool> value_;
  Tensor tensor_{};
};

}  // namespace towerflow::layers::types

namespace towerflow::layers {

/// Returns what the first function returns in training, else what the second one does; if runs
/// decide, both are branches of a `tf::cond`. (smart_cond)
template <class F, class G>
auto in_training(const Training& training, F&& then, G&& otherwise, Site site) {
  if (training.value()) return *training.value() ? then() : otherwise();
  return cond(training.tensor(), then, otherwise, {}, site);
}

}  // namespace towerflow::layers
