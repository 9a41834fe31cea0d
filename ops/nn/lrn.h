#pragma once

#include <string>
#include <utility>

#include "core/graph/operand.h"

namespace towerflow::nn {

struct LrnOptions {
  ByName by_name = ByName();
  double bias = 1;
  double alpha = 1;
  double beta = 0.5;
  std::string name{};
};

/// Local response normalization: divides each element by a power of the sum of squares of its
/// neighbours in the last dimension, y = x / (bias + alpha * sum of x^2 over depth_radius on both
/// sides)^beta.
///
/// shapes   input [n, h, w, c] -> as input     dtypes  float32; float64, which TensorFlow lacks
/// grads    input; a second derivative is a LookupError, as in TensorFlow
/// errors   ValueError: not four dimensions; TypeError: another dtype
/// source   tf.nn.local_response_normalization; Krizhevsky, Sutskever and Hinton 2012
Tensor lrn(const Operand& input, int depth_radius = 5, LrnOptions options = {},
           Site site = Site::current());
inline Tensor lrn(const Operand& input, LrnOptions options, Site site = Site::current()) {
  return lrn(input, 5, std::move(options), site);
}

}  // namespace towerflow::nn
