#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/support/grad_check.h"

namespace towerflow::testing {

/// A function in whose first gradients, or in itself, an op stands, and values to take it at.
struct GradientCase {
  Function function;
  std::vector<Array> xs;  ///< float64
};
using GradientCases = std::map<std::string, GradientCase>;  // by op

/// A case for every op of the library that has a gradient, but for those that need none.
GradientCases gradient_cases();

}  // namespace towerflow::testing
