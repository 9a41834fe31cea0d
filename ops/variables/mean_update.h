#pragma once

#include <cstddef>
#include <span>

namespace towerflow {

/// An optimizer's update that has a fused one: its name without "Apply", what stands before and
/// behind the gradient, and whether there is one for rows.
struct UpdateFamily {
  const char* name;
  std::size_t slots, scalars, before_gradient;
  bool rows;
};
std::span<const UpdateFamily> update_families();

}  // namespace towerflow
