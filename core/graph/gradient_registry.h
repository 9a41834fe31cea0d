#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/graph/op_gradient.h"

namespace towerflow::types {

/// Gradients that programs register by name, for `gradient_override_map`. The name of an op is
/// taken if its OpDef specifies a gradient. Safe from any thread.
class GradientRegistry {
 public:
  GradientRegistry();
  ~GradientRegistry();
  static GradientRegistry& global();

  /// Adds a gradient. Throws KeyError if an op or an earlier registration, whose site it names, has
  /// the name.
  void add(const std::string& name, OpGradient gradient, Site site);
  /// Returns a gradient, nullptr if there is none. Entries are never removed.
  const OpGradient* find(const std::string& name) const;
  std::vector<std::string> names() const;

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

/// Registers a gradient under a name: used as a statement, or as an object at namespace scope. The
/// name may be that of an op without a gradient.
///
///   const tf::RegisterGradient clipped("ClippedRelu", [](const tf::Operation& op, const auto& dys)
///   {
///     return std::vector<tf::OptionalGradient>{...};  // one for each input of op
///   });
///
/// errors   KeyError: the name is taken
/// source   tf.RegisterGradient
class RegisterGradient {
 public:
  explicit RegisterGradient(const std::string& op_type, GradientRule rule,
                            Site site = Site::current());
};

/// Gradients owned by one graph: those of `custom_gradient`, whose rules hold its tensors.
struct GraphGradients {
  std::map<std::string, OpGradient> by_name;
};

}  // namespace towerflow::types

namespace towerflow {

/// Registers a name as not differentiable: its gradient is absent. (tf.no_gradient,
/// tf.NotDifferentiable) Throws KeyError if the name is taken.
void NotDifferentiable(const std::string& op_type, Site site = Site::current());

/// Returns the gradient of a node, found by its override name or else its op; nullptr if there is
/// none. For a node without inputs it is a NoGradient. (ops.get_gradient_function)
const OpGradient* gradient_function(const Node& node);

/// Throws the LookupError for a node whose gradient is not defined.
[[noreturn]] void throw_no_gradient_defined(const Node& node, Site site);

}  // namespace towerflow
