#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ops/variables/variable.h"

namespace towerflow::types {

/// Python's tf.AUTO_REUSE.
struct AutoReuse {};
inline constexpr AutoReuse AUTO_REUSE{};

/// Whether `get_variable` makes a variable, finds one, or either.
class Reuse {
 public:
  enum class Mode { inherit, no, yes, automatic };

  constexpr Reuse(bool reuse) : mode_(reuse ? Mode::yes : Mode::no) {}  // NOLINT: {.reuse = true}
  constexpr Reuse(std::nullopt_t) : mode_(Mode::inherit) {}             // NOLINT
  constexpr Reuse(AutoReuse) : mode_(Mode::automatic) {}                // NOLINT

  constexpr Mode mode() const { return mode_; }
  constexpr bool operator==(const Reuse&) const = default;

 private:
  Mode mode_;
};

struct GetVariableOptions;

/// A loss that belongs to a variable, or nothing. (the `regularizer` of tf.get_variable)
using Regularizer = std::function<std::optional<Tensor>(const Variable& variable)>;

/// Makes or finds the variable of a full name.
using VariableGetter = std::function<Variable(
    const std::string& name, const std::optional<Shape>& shape, const GetVariableOptions& options)>;
/// Called by `get_variable` instead of `getter`, with the full name and the arguments for `getter`;
/// returns a variable. (the `custom_getter` of tf.variable_scope)
using CustomGetter =
    std::function<Variable(const VariableGetter& getter, const std::string& name,
                           const std::optional<Shape>& shape, const GetVariableOptions& options)>;

struct GetVariableOptions {
  ByName by_name = ByName();
  std::optional<DType> dtype{};
  std::optional<Initializer> initializer{};
  /// Its loss is added to REGULARIZATION_LOSSES when the variable is made. As in TensorFlow, the
  /// loss is built again each time the listed one is used in an op.
  Regularizer regularizer{};
  std::optional<bool> trainable{};  ///< default true, false with ON_READ
  std::optional<std::vector<std::string>> collections{};
  std::optional<DeviceOrFunction> caching_device{};
  /// Divides the variable into parts; the result is a partitioned variable.
  Partitioner partitioner{};
  bool validate_shape = true;
  std::optional<bool> use_resource{};  ///< true is rejected, see VariableOptions
  CustomGetter custom_getter{};
  Constraint constraint{};
  VariableSynchronization synchronization = VariableSynchronization::AUTO;
  VariableAggregation aggregation = VariableAggregation::NONE;
  /// Where the value is stored: by default with the variable that this one is colocated with, else
  /// at the scope's home, else on the host.
  std::optional<VariableHome> home{};
  Reuse reuse = std::nullopt;  ///< default: the scope's; a custom getter may set it for its getter
};

/// A default name of a variable scope that was taken already.
struct TakenName {
  std::string asked;  ///< "conv"
  std::string made;   ///< "conv_1"
  Site site;          ///< where the scope was opened
};

/// The scopes that were open when a variable was requested, for messages.
struct OpenScopes {
  std::string variable_scope;
  std::string name_scope;
  Site reuse;                        ///< where reuse was turned on
  std::optional<TakenName> renamed;  ///< of the innermost renamed scope
};

}  // namespace towerflow::types

namespace towerflow {

/// Returns the detail of an error of `get_variable` about the variable `name`.
inline ErrorDetail get_variable_detail(const std::string& name, Site site, std::string hint) {
  return {.site = site, .node = name, .op = "get_variable", .hint = std::move(hint)};
}

}  // namespace towerflow

namespace towerflow::types {

/// The variables of a graph made by `get_variable`, by name. Kept with the graph.
class VariableStore {
 public:
  /// Makes or finds a variable by `options` only, ignoring scopes; `options.reuse` decides which.
  Variable get(const std::string& name, const std::optional<Shape>& shape,
               const GetVariableOptions& options, const OpenScopes& open, Site site);

  const std::map<std::string, Variable>& variables() const { return variables_; }

 private:
  struct Part {
    PartitionInfo info;
    SaveSliceInfo slice;
  };
  Variable single(const std::string& name, const std::optional<Shape>& shape,
                  const GetVariableOptions& options, const Part* part, const OpenScopes& open,
                  Site site);
  Variable reuse_existing(const Variable& variable, const std::string& name,
                          const std::optional<Shape>& shape, const GetVariableOptions& options,
                          Site site) const;
  /// Called if there is a partitioner, or a partitioned variable of that name to be found.
  Variable partitioned(const std::string& name, const std::optional<Shape>& shape,
                       const GetVariableOptions& options, const OpenScopes& open, Site site);
  Variable make_parts(const std::string& name, const Shape& shape,
                      const GetVariableOptions& options, const std::vector<int>& partitions,
                      const OpenScopes& open, Site site);

  std::map<std::string, Variable> variables_;
  std::map<std::string, Variable> partitioned_;
};

}  // namespace towerflow::types
