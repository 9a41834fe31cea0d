#pragma once

namespace towerflow {

/// Of Pack; one without attributes stacks along a new first dimension.
struct PackAttrs {
  int axis = 0;
  bool operator==(const PackAttrs&) const = default;
};

}  // namespace towerflow
