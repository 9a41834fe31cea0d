#pragma once

#include <concepts>

#include "layers/activation.h"

namespace towerflow::layers::types {

/// Whether a layer acts as in training. A tensor would decide that at run time, which needs
/// `tf.cond`; it is an UnimplementedError.
class Training {
 public:
  template <std::same_as<bool> T>
  Training(T training) : training_(training) {}  // NOLINT: {.training = true}
  template <std::convertible_to<Tensor> T>
  Training(const T& training, Site site = Site::current()) {  // NOLINT
    refuse(training, site);
  }
  operator bool() const { return training_; }  // NOLINT

 private:
  [[noreturn]] static void refuse(const Tensor& training, Site site);

  bool training_ = false;
};

}  // namespace towerflow::layers::types
