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

/// Chooses a device for an operation; its result replaces the device requested so far.
using DeviceFunction = std::function<std::string(const Operation&)>;

/// An argument of `device(...)`: a spelling or a function.
using DeviceOrFunction = std::variant<std::string, DeviceFunction>;

/// One level of `device(...)`: a spec to merge, a function, or monostate, which hides outer levels.
using DeviceLevel = std::variant<std::monostate, DeviceSpec, DeviceFunction>;

/// One level of `control_dependencies(...)`.
struct ControlLevel {
  Distinct<Node*> inputs;
  std::unordered_set<const Node*> made_inside;  ///< nodes made in the block: they wait already
};

/// A scope guard that is open on this thread.
struct OpenGuard {
  const void* guard = nullptr;
  const char* kind = "";  ///< "name_scope"
  Site site;
};

/// The open scopes of one thread in one graph.
struct ScopeState {
  std::string name;                  ///< current name scope without trailing '/', "" at the root
  std::vector<DeviceLevel> devices;  ///< outermost first
  /// Device lists hidden by colocation scopes and InitScopes, outermost first; `devices` follows
  /// them.
  std::vector<const std::vector<DeviceLevel>*> hidden_devices;
  /// The lists that were `devices` when variable scopes, default graphs and InitScopes were
  /// entered, as indices into `hidden_devices`. If a colocation scope leaves `devices` empty, the
  /// innermost of them applies to variables.
  std::vector<std::size_t> remembered_devices;
  std::vector<Node*> colocation;  ///< outermost first
  /// Name of a variable about to be created, with which the nodes of its initial value are
  /// colocated.
  std::optional<std::string> pending_variable;
  std::vector<ControlLevel> control;                      ///< outermost first
  std::map<std::string, std::string> gradient_overrides;  ///< op type -> name of its gradient
  /// Name of the open variable scope, owned by the graph; nullptr at the root.
  const std::string* variable_scope = nullptr;
  NodeRole role = NodeRole::program;      ///< of new nodes
  ControlFlowContext* context = nullptr;  ///< the open branch or loop

  /// Returns data that a higher layer keeps per thread and graph (variable scopes), created on
  /// first use.
  template <class T>
  T& extension() {
    if (!extension_.has_value()) extension_ = std::make_shared<T>();
    return *std::any_cast<std::shared_ptr<T>&>(extension_);
  }

  /// Throws RuntimeError if a guard was closed before one inside it. Destructors cannot report
  /// that, so later calls that make nodes or open scopes do.
  void check_nesting();
  void opened(const void* guard, const char* kind, Site site);
  /// Records that a guard is closed. Returns false if it was opened on another thread, whose scopes
  /// must not be touched.
  bool closed(const void* guard) noexcept;

  /// Returns the innermost remembered list of devices, or the root's if there is none; nullptr if
  /// that list is empty or `devices` is not.
  const std::vector<DeviceLevel>* innermost_remembered_devices() const;
  /// Sets and returns the device that the open scopes give a new node.
  std::string device_of(const Operation& made) const;
  /// Returns the nodes that must run before a new node with these data inputs: those of each open
  /// level, unless an input was made inside that level and so waits for them already.
  Distinct<Node*> control_inputs_for(const std::vector<Tensor>& inputs) const;

 private:
  std::any extension_;
  std::vector<OpenGuard> open_;
  /// A guard closed too early, and one that was still open inside it.
  std::optional<std::pair<OpenGuard, OpenGuard>> improper_nesting_;
};

}  // namespace towerflow::types
