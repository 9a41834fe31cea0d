#pragma once

#include <doctest/doctest.h>

#include <vector>

#include "ops/math/unary.h"
#include "tests/support/grad_check.h"

namespace towerflow::testing {

/// Checks first and second gradients, the first with known and with unknown shapes.
inline void check_gradient(const Function& f, const std::vector<Array>& xs) {
  CHECK(grad_check(f, xs) == "");
  CHECK(grad_check(f, xs, {.unknown_shapes = true}) == "");
  const auto g = [&](const std::vector<Tensor>& in) { return square(f(in)); };
  CHECK(second_grad_check(g, xs) == "");
}

}  // namespace towerflow::testing
