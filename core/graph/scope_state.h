#pragma once

#include <functional>
#include <optional>
#include <string>
#include <unordered_set>
#include <variant>
#include <vector>

#include "core/graph/device_spec.h"
#include "core/graph/tensor.h"

namespace towerflow {

/// Chooses a device for an operation; what it returns replaces the device asked for so far.
using DeviceFunction = std::function<std::string(const Operation&)>;

/// One level of `device(...)`: a spec to merge, a function, or nullopt, which stops at this level.
using DeviceLevel = std::variant<std::monostate, DeviceSpec, DeviceFunction>;

/// One level of `control_dependencies(...)`.
struct ControlLevel {
  std::vector<Node*> inputs;
  std::unordered_set<const Node*> made_inside;  ///< nodes made in the block: they depend already
};

/// The stacks that the scope guards of one thread keep for one graph.
struct ScopeState {
  std::string name;                  ///< current name scope without trailing '/', "" at the root
  std::vector<DeviceLevel> devices;  ///< outermost first
  /// The devices around the outermost colocation scope since the last variable scope was opened,
  /// which hides them; null where there is none.
  const std::vector<DeviceLevel>* hidden_devices = nullptr;
  std::vector<Node*> colocation;  ///< outermost first
  /// A node to be made, beside which its initial value belongs.
  std::optional<std::string> future_variable;
  std::vector<ControlLevel> control;  ///< outermost first

  /// The device that the open scopes give a new node.
  std::string device_of(const Operation& made) const;
  /// The nodes that must run before a new node with these data inputs: those of each open level,
  /// unless an input was made inside that level and so waits for them already.
  std::vector<Node*> control_inputs_for(const std::vector<Tensor>& inputs) const;
};

}  // namespace towerflow
