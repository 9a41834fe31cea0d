#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/graph/array.h"
#include "core/graph/tensor.h"

namespace towerflow::testing {

/// A function of tensors, built into the default graph.
using Function = std::function<Tensor(const std::vector<Tensor>& xs)>;

struct GradCheckOptions {
  double tolerance = 1e-6;      ///< norm of the difference over norm, for each x
  double step = 1e-5;           ///< of the central difference, times max(1, |x|)
  bool unknown_shapes = false;  ///< the graph is built without knowing the sizes of xs
  unsigned seed = 1;            ///< of the random gradient of y
};

/// What is wrong with the gradients of `function` at `xs` (float64 arrays), empty when nothing is:
/// `tf::gradients` under a random gradient of y against central differences of the function itself.
/// An absent gradient, a NaN or an infinity on either side is wrong.
std::string grad_check(const Function& function, const std::vector<Array>& xs,
                       GradCheckOptions options = {});

/// The same for the gradients' own gradients: of the sum of all gradients, each under a random
/// weight.
std::string second_grad_check(const Function& function, const std::vector<Array>& xs,
                              GradCheckOptions options = {});

/// The function that `second_grad_check` looks at: the sum of all gradients of `function`, each
/// under a random weight of the shape of its x.
Function weighted_gradients(const Function& function, const std::vector<Array>& xs, unsigned seed);

/// Numbers in -1 .. 1 from a fixed seed.
Array random_doubles(const Shape& shape, unsigned seed);
/// Numbers in `low` .. `high` from a fixed seed.
Array random_between(const Shape& shape, double low, double high, unsigned seed);

}  // namespace towerflow::testing
