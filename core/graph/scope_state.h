#pragma once

#include <any>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <variant>
#include <vector>

#include "core/graph/device_spec.h"
#include "core/graph/distinct.h"
#include "core/graph/node.h"
#include "core/graph/tensor.h"

namespace towerflow::types {

/// Chooses a device for an operation; what it returns replaces the device asked for so far.
using DeviceFunction = std::function<std::string(const Operation&)>;

/// A device as `device(...)` takes it: a spelling, or a function.
using DeviceOrFunction = std::variant<std::string, DeviceFunction>;

/// One level of `device(...)`: a spec to merge, a function, or nullopt, which stops at this level.
using DeviceLevel = std::variant<std::monostate, DeviceSpec, DeviceFunction>;

/// One level of `control_dependencies(...)`.
struct ControlLevel {
  Distinct<Node*> inputs;
  std::unordered_set<const Node*> made_inside;  ///< nodes made in the block: they depend already
};

/// A scope guard that lives on this thread.
struct OpenGuard {
  const void* guard = nullptr;
  const char* kind = "";  ///< "name_scope"
  Site site;
};

/// The stacks that the scope guards of one thread keep for one graph.
struct ScopeState {
  std::string name;                  ///< current name scope without trailing '/', "" at the root
  std::vector<DeviceLevel> devices;  ///< outermost first
  /// Lists of devices that colocation scopes hide, outermost first; `devices` comes after them.
  std::vector<const std::vector<DeviceLevel>*> hidden_devices;
  /// The lists, as places in those, that were `devices` when a variable scope or an InitScope was
  /// opened: where a colocation leaves none, the innermost of them counts for variables.
  std::vector<std::size_t> remembered_devices;
  std::vector<Node*> colocation;  ///< outermost first
  /// A node to be made, beside which its initial value belongs.
  std::optional<std::string> future_variable;
  std::vector<ControlLevel> control;                      ///< outermost first
  std::map<std::string, std::string> gradient_overrides;  ///< op type -> name of its gradient
  /// Name of the open variable scope, kept by the graph; nullptr at the root.
  const std::string* variable_scope = nullptr;
  NodeRole role = NodeRole::program;  ///< of the nodes that are made now

  /// What a part above keeps for this thread and graph, made on first use: variable scopes.
  template <class T>
  T& extension() {
    if (!extension_.has_value()) extension_ = std::make_shared<T>();
    return *std::any_cast<std::shared_ptr<T>&>(extension_);
  }

  /// Guards close innermost first. One that does not cannot say so in its destructor: the next
  /// call that opens a scope or makes a node throws RuntimeError.
  void check_nesting();
  void opened(const void* guard, const char* kind, Site site);
  /// Whether it was opened on this thread; another thread's scopes are not to be touched.
  bool closed(const void* guard) noexcept;

  /// Returns the innermost remembered list of devices, or the root's if there is none; nullptr if
  /// that list is empty or `devices` is not.
  const std::vector<DeviceLevel>* innermost_remembered_devices() const;
  /// The device that the open scopes give a new node.
  std::string device_of(const Operation& made) const;
  /// The nodes that must run before a new node with these data inputs: those of each open level,
  /// unless an input was made inside that level and so waits for them already.
  Distinct<Node*> control_inputs_for(const std::vector<Tensor>& inputs) const;

 private:
  std::any extension_;
  std::vector<OpenGuard> open_;
  std::optional<std::pair<OpenGuard, OpenGuard>> misplaced_;  ///< closed, and still open inside it
};

}  // namespace towerflow::types
