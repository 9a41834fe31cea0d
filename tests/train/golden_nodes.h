#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/graph/graph.h"

namespace towerflow::testing {

/// Returns `name|type|inputs|control inputs, sorted|requested device`, as the scripts in golden/.
inline std::string node_line(const Operation& op) {
  std::vector<std::string> inputs, control;
  for (const Tensor& input : op.inputs()) inputs.push_back(input.name());
  for (const Operation& other : op.control_inputs()) control.push_back(other.name());
  std::sort(control.begin(), control.end());
  return fmt::format("{}|{}|{}|{}|{}\n", op.name(), op.type(), fmt::join(inputs, ","),
                     fmt::join(control, ","), op.device());
}

/// Returns the lines of the nodes from `begin` on.
inline std::string node_lines(const Graph& graph, std::size_t begin) {
  std::string lines;
  for (std::size_t i = begin; i < graph.size(); ++i) lines += node_line(graph.operation(i));
  return lines;
}

}  // namespace towerflow::testing
