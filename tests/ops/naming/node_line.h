#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "core/graph/graph.h"

namespace towerflow::testing {

/// Returns a node as the scripts that run TensorFlow write it: name, op, inputs, control inputs,
/// outputs, device.
inline std::string node_line(const Operation& op) {
  std::vector<std::string> inputs;
  for (const Tensor& input : op.inputs()) inputs.push_back(input.name());
  for (const Operation& control : op.control_inputs()) inputs.push_back("^" + control.name());
  std::vector<std::string> outputs;
  for (const Tensor& output : op.outputs()) {
    outputs.push_back(fmt::format("{}{} {}", dtype_name(output.dtype()),
                                  output.is_ref() ? "_ref" : "", output.shape().text()));
  }
  std::string line = fmt::format("{} = {}({}) {}", op.name(), op.type(), fmt::join(inputs, ", "),
                                 fmt::join(outputs, "; "));
  if (!op.device().empty()) line += " @" + op.device();
  while (line.ends_with(' ')) line.pop_back();
  return line + "\n";
}

}  // namespace towerflow::testing
