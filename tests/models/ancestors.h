#pragma once

#include <set>
#include <string>
#include <vector>

#include "core/graph/tensor.h"

namespace towerflow::testing {

/// Returns the names of the operations that run before `op`, for its inputs or because it waits for
/// them.
inline std::set<std::string> ancestors(const Operation& op) {
  std::set<std::string> found;
  std::vector<Operation> open{op};
  while (!open.empty()) {
    const Operation at = open.back();
    open.pop_back();
    std::vector<Operation> before = at.control_inputs();
    for (const Tensor& input : at.inputs()) before.push_back(input.op());
    for (const Operation& other : before) {
      if (found.insert(other.name()).second) open.push_back(other);
    }
  }
  return found;
}

}  // namespace towerflow::testing
