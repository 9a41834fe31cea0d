#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/graph/op_gradient.h"

namespace towerflow::types {

/// Gradients that programs register by name, for `gradient_override_map`. The names of ops are
/// taken: an op brings its gradient in its OpDef. Safe from any thread.
class GradientRegistry {
 public:
  GradientRegistry();
  ~GradientRegistry();
  static GradientRegistry& global();

  /// Throws KeyError when the name is taken, by an op or an earlier registration, and says where.
  void add(const std::string& name, OpGradient gradient, Site site);
  /// Entries are never removed; nullptr when there is none.
  const OpGradient* find(const std::string& name) const;
  std::vector<std::string> names() const;

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

/// Registers a gradient under a name when it is made: a statement, or an object at namespace scope.
/// The name of an op without a gradient of its own may be given too.
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

/// Gradients that live with one graph: those of `custom_gradient`, whose rules hold its tensors.
struct GraphGradients {
  std::map<std::string, OpGradient> by_name;
};

}  // namespace towerflow::types

namespace towerflow {

/// Registers a name whose gradient is absent. (tf.no_gradient, tf.NotDifferentiable)
/// Throws KeyError when the name is taken.
void NotDifferentiable(const std::string& op_type, Site site = Site::current());

/// The gradient of a node, found by the name it was given or by its op; nullptr where the name is
/// unknown. A node without inputs has none to give. (ops.get_gradient_function)
const OpGradient* gradient_function(const Node& node);

/// The LookupError for a node whose gradient nobody has defined.
[[noreturn]] void throw_no_gradient_defined(const Node& node, Site site);

}  // namespace towerflow
