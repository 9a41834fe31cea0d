#include "core/graph/scope_state.h"

#include <algorithm>

#include "core/graph/node.h"

namespace towerflow {

std::string ScopeState::device_of(const Operation& made) const {
  // Innermost first; an outer level only fills in what is still open, a function decides anew.
  Node& node = made.node();
  for (auto level = devices.rbegin(); level != devices.rend(); ++level) {
    if (std::holds_alternative<std::monostate>(*level)) break;
    if (const auto* spec = std::get_if<DeviceSpec>(&*level)) {
      node.device = spec->merged(DeviceSpec::parse(node.device)).text();
    } else {
      node.device = DeviceSpec::parse(std::get<DeviceFunction>(*level)(made)).text();
    }
  }
  for (auto other = colocation.rbegin(); other != colocation.rend(); ++other) {
    if (!(*other)->device.empty()) {
      node.device = (*other)->device;
      break;
    }
  }
  return node.device;
}

std::vector<Node*> ScopeState::control_inputs_for(const std::vector<Tensor>& inputs) const {
  std::vector<Node*> found;
  for (const ControlLevel& level : control) {
    const bool waits_already = std::any_of(inputs.begin(), inputs.end(), [&](const Tensor& input) {
      return level.made_inside.contains(&input.node());
    });
    if (waits_already) continue;
    for (Node* control_input : level.inputs) {
      const bool is_input = std::any_of(inputs.begin(), inputs.end(), [&](const Tensor& input) {
        return &input.node() == control_input;
      });
      if (!is_input && std::find(found.begin(), found.end(), control_input) == found.end()) {
        found.push_back(control_input);
      }
    }
  }
  return found;
}

}  // namespace towerflow
