#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/graph/array.h"
#include "core/graph/tensor.h"

namespace towerflow::testing {

/// A function of tensors that adds its nodes to the default graph.
using Function = std::function<Tensor(const std::vector<Tensor>& xs)>;

struct GradCheckOptions {
  double tolerance = 1e-6;      ///< of norm(difference) / norm(gradient), for each x
  double step = 1e-5;           ///< of the central difference, times max(1, |x|)
  bool unknown_shapes = false;  ///< build the graph with unknown sizes of xs
  unsigned seed = 1;            ///< of the random gradient of y
};

/// Compares `tf::gradients` of `function` at `xs` (float64 arrays), with a random gradient of y,
/// with central differences. Returns "" or the error found. An absent gradient, a NaN or an
/// infinity on either side is an error.
std::string grad_check(const Function& function, const std::vector<Array>& xs,
                       GradCheckOptions options = {});

/// Checks second derivatives in the same way: the gradients of the sum of all gradients, each with
/// a random weight.
std::string second_grad_check(const Function& function, const std::vector<Array>& xs,
                              GradCheckOptions options = {});

/// Returns the function that `second_grad_check` differentiates: the sum of all gradients of
/// `function`, each with a random weight of the shape of its x.
Function weighted_gradients(const Function& function, const std::vector<Array>& xs, unsigned seed);

/// Returns random numbers in -1 .. 1 for a seed.
Array random_doubles(const Shape& shape, unsigned seed);
/// Returns random numbers in `low` .. `high` for a seed.
Array random_between(const Shape& shape, double low, double high, unsigned seed);

}  // namespace towerflow::testing
