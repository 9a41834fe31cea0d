#pragma once

#include <cstddef>
#include <span>

namespace towerflow {

/// An optimizer's update that has a fused op: its name without "Apply", its numbers of slots, of
/// scalars and of scalars before the gradient, and whether there is a fused op for rows.
struct UpdateFamily {
  const char* name;
  std::size_t slots, scalars, before_gradient;
  bool rows;
};
std::span<const UpdateFamily> update_families();

}  // namespace towerflow
