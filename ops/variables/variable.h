#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/operand.h"
#include "core/graph/scopes.h"

namespace towerflow {

struct VariableRecord;

/// Makes an initial value of a shape and dtype inside the variable's `Initializer` scope.
using InitializerFunction = std::function<Tensor(const Shape& shape, DType dtype, Site site)>;

/// How a variable is initialised: by a function of shape and dtype, or by a value.
class Initializer {
 public:
  Initializer(InitializerFunction function) : function_(std::move(function)) {}  // NOLINT
  Initializer(Operand value) : value_(std::move(value)) {}                       // NOLINT
  Initializer(Array value) : value_(Operand(std::move(value))) {}                // NOLINT

  bool is_function() const { return function_ != nullptr; }
  const InitializerFunction& function() const { return function_; }
  const Operand& value() const { return *value_; }

 private:
  InitializerFunction function_;
  std::optional<Operand> value_;
};

struct VariableOptions {
  bool trainable = true;
  /// Collections it is added to; GLOBAL_VARIABLES when not given. TRAINABLE_VARIABLES comes on top
  /// for a trainable one.
  std::optional<std::vector<std::string>> collections{};
  bool validate_shape = true;
  std::string caching_device{};
  std::string name{};
  std::optional<DType> dtype{};
};

/// A value that lives in a session and that runs read and change. A cheap handle; in an expression
/// it stands for its value. (tf.Variable, reference variables)
///
/// Made of the nodes `w` (the storage), `w/Assign` (its initializer), `w/read` (its value).
class Variable {
 public:
  Variable() = default;
  /// A variable with this initial value, in the current name scope.
  explicit Variable(const Operand& initial_value, VariableOptions options = {},
                    Site site = Site::current());

  bool valid() const { return record_ != nullptr; }
  std::string name() const;  ///< "conv1/weights:0"
  DType dtype() const;
  const Shape& shape() const;
  const Shape& get_shape() const { return shape(); }
  const std::string& device() const;
  Graph& graph() const;
  Operation op() const;
  bool trainable() const;
  Site site() const;  ///< where it was created

  Tensor ref() const;             ///< the storage itself, for ops that write it
  Tensor value() const;           ///< "w/read:0"
  Operation initializer() const;  ///< "w/Assign"
  Tensor initial_value() const;
  /// The value where there is one already, else the initial value; for initial values of other
  /// variables. (initialized_value)
  Tensor initialized_value(Site site = Site::current()) const;
  /// A read that is placed on the tape here: after the writes made before it. (read_value)
  Tensor read_value(Site site = Site::current()) const;

  operator Tensor() const { return value(); }      // NOLINT: an operand like any tensor
  operator Fetch() const { return Fetch(ref()); }  // NOLINT: sess.run(w) reads it last
  bool operator==(const Variable& other) const { return record_ == other.record_; }

 private:
  friend Variable make_variable(const Initializer& initial, const Shape* shape, DType dtype,
                                const VariableOptions& options, Site site);
  const VariableRecord& record() const;

  std::shared_ptr<const VariableRecord> record_;
};

inline std::string collection_name(const Variable& variable) { return variable.name(); }

/// The parts of a variable.
struct VariableRecord {
  Tensor ref;
  Tensor snapshot;
  Operation initializer;
  Tensor initial_value;
  bool trainable = true;
  Site site;
};

/// Makes the nodes of a variable called `options.name` in the current name scope and adds it to its
/// collections. `shape` is given when `initial` is a function.
Variable make_variable(const Initializer& initial, const Shape* shape, DType dtype,
                       const VariableOptions& options, Site site);

/// All variables but local ones, in the order of their creation. (tf.global_variables)
std::vector<Variable> global_variables(const std::optional<std::string>& scope = std::nullopt);
std::vector<Variable> local_variables(const std::optional<std::string>& scope = std::nullopt);
std::vector<Variable> trainable_variables(const std::optional<std::string>& scope = std::nullopt);
std::vector<Variable> model_variables(const std::optional<std::string>& scope = std::nullopt);
std::vector<Variable> moving_average_variables(
    const std::optional<std::string>& scope = std::nullopt);

/// An operation that runs the initializers of the variables. (tf.variables_initializer)
Operation variables_initializer(const std::vector<Variable>& variables, std::string name = "init",
                                Site site = Site::current());
Operation global_variables_initializer(Site site = Site::current());
Operation local_variables_initializer(Site site = Site::current());

}  // namespace towerflow
