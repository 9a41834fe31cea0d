#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/operand.h"
#include "core/graph/scopes.h"
#include "core/graph/variable_home.h"
#include "ops/variables/initial_value.h"
#include "ops/variables/partition.h"

namespace towerflow::types {

/// When the copies of a variable that several devices hold are brought together; the variables here
/// have one copy, so that it only decides whether one is trainable. (tf.VariableSynchronization)
enum class VariableSynchronization { AUTO, NONE, ON_WRITE, ON_READ };
/// How they are; kept for TensorFlow's signature. (tf.VariableAggregation)
enum class VariableAggregation { NONE, SUM, MEAN, ONLY_FIRST_REPLICA };

/// What an updated variable is replaced by, a projection of its value: a norm or range that it has
/// to keep. Optimizers apply it after each update. (the `constraint` of tf.get_variable)
using Constraint = std::function<Tensor(const Tensor& value)>;

struct VariableOptions {
  std::optional<bool> trainable{};  ///< true, but with ON_READ
  /// Collections it is added to; GLOBAL_VARIABLES when not given. TRAINABLE_VARIABLES comes on top
  /// for a trainable one.
  std::optional<std::vector<std::string>> collections{};
  bool validate_shape = true;
  std::optional<DeviceOrFunction> caching_device{};  ///< where `w/read` is placed
  std::string name{};
  std::optional<DType> dtype{};
  Constraint constraint{};
  /// true is refused: resource variables are not here, and reads of these are ordered already.
  std::optional<bool> use_resource{};
  VariableSynchronization synchronization = VariableSynchronization::AUTO;
  VariableAggregation aggregation = VariableAggregation::NONE;
  /// Of the storage, where it is not the initial value's: Shape::unknown() takes values of any.
  std::optional<Shape> shape{};
  /// Where the value lies; not said, that of the variable beside which it is made, as a slot is,
  /// else the host.
  std::optional<VariableHome> home{};
};

struct UpdateOptions {
  bool use_locking = false;  ///< writes are always whole here; kept for TensorFlow's signature
  std::string name{};
};

struct VariableRecord;
struct VariableRequest;
struct PartitionedParts;
class Variable;

}  // namespace towerflow::types

namespace towerflow {

/// Makes the nodes of a variable called `options.name` in the current name scope and adds it to its
/// collections.
Variable make_variable(const Initializer& initial, const VariableRequest& request,
                       const VariableOptions& options, Site site);
/// The home of the variable beside which nodes are made now; nullopt where they are beside none.
std::optional<VariableHome> colocated_home(Graph& graph);
/// The handle of nodes that are there already: those of a graph that was imported.
Variable variable_of(VariableRecord record);
/// The handle of variables that are parts of one.
Variable partitioned_variable(PartitionedParts parts, Site site);

}  // namespace towerflow

namespace towerflow::types {

/// Where a part of a partitioned variable lies in the whole. (tf.Variable.SaveSliceInfo)
struct SaveSliceInfo {
  std::string full_name;
  Shape full_shape;
  PartSlice slice;
};

/// A value that lives in a session and that runs read and change. A cheap handle; in an expression
/// it stands for its value. (tf.Variable, reference variables)
///
/// Made of the nodes `w` (the storage), `w/Assign` (its initializer), `w/read` (its value). A
/// partitioned one consists of variables instead, its parts, and has no storage of its own: what
/// needs that throws NotImplementedError.
class Variable {
 public:
  Variable() = default;
  /// A variable with this initial value, in the current name scope.
  explicit Variable(const Operand& initial_value, VariableOptions options = {},
                    Site site = Site::current());
  /// With the value that the function makes, inside the variable's `Initializer` scope.
  explicit Variable(InitialValueFunction initial_value, VariableOptions options = {},
                    Site site = Site::current());

  bool valid() const { return record_ != nullptr; }
  std::string name() const;  ///< "conv1/weights:0"; of a partitioned one "conv1/weights"
  DType dtype() const;
  const Shape& shape() const;
  const Shape& get_shape() const { return shape(); }
  const std::string& device() const;
  VariableHome home() const;
  Graph& graph() const;
  Operation op() const;
  bool trainable() const;
  Site site() const;  ///< where it was created

  Tensor ref() const;  ///< the storage itself, for ops that write it
  /// "w/read:0"; of a partitioned one its parts put together, by nodes that each call adds.
  Tensor value() const;
  Operation initializer() const;  ///< "w/Assign"
  Tensor initial_value() const;
  /// The value where there is one already, else the initial value; for initial values of other
  /// variables. (initialized_value)
  Tensor initialized_value(Site site = Site::current()) const;
  /// A read that is placed on the tape here: after the writes made before it. (read_value)
  Tensor read_value(Site site = Site::current()) const;
  /// As tf::assign and its like, which say the rest.
  Tensor assign(const Operand& value, UpdateOptions options = {},
                Site site = Site::current()) const;
  Tensor assign_add(const Operand& delta, UpdateOptions options = {},
                    Site site = Site::current()) const;
  Tensor assign_sub(const Operand& delta, UpdateOptions options = {},
                    Site site = Site::current()) const;
  const Constraint& constraint() const;

  bool partitioned() const;
  /// The variables that a partitioned one consists of, in order; none of another.
  const std::vector<Variable>& parts() const;
  const std::vector<int>& partitions() const;  ///< one number for each dimension
  /// Of a part: where it belongs.
  const std::optional<SaveSliceInfo>& save_slice_info() const;

  operator Tensor() const { return value(); }      // NOLINT: an operand like any tensor
  operator Fetch() const { return Fetch(ref()); }  // NOLINT: sess.run(w) reads it last
  bool operator==(const Variable& other) const { return record_ == other.record_; }

 private:
  friend Variable towerflow::make_variable(const Initializer& initial,
                                           const VariableRequest& request,
                                           const VariableOptions& options, Site site);
  friend Variable towerflow::variable_of(VariableRecord record);
  friend Variable towerflow::partitioned_variable(PartitionedParts parts, Site site);
  const VariableRecord& record() const;
  const VariableRecord& unpartitioned_record() const;  ///< throws for a partitioned variable

  std::shared_ptr<const VariableRecord> record_;
};

inline std::string collection_name(const Variable& variable) { return variable.name(); }

/// What a partitioned variable is made of.
struct PartitionedParts {
  std::string name;
  Shape shape;
  std::vector<int> partitions;
  std::vector<Variable> variables;
};

/// What a handle stands for: nodes, or the parts of a partitioned variable.
struct VariableRecord {
  Tensor ref;
  Tensor snapshot;
  Operation initializer;
  Tensor initial_value;
  bool trainable = true;
  Constraint constraint;
  std::optional<SaveSliceInfo> save_slice_info;
  std::optional<PartitionedParts> parts;
  Site site;
};

/// What an initializer is asked for, besides the options.
struct VariableRequest {
  DType dtype = DType::float32;
  const Shape* shape = nullptr;  ///< where the initializer takes one
  const PartitionInfo* partition = nullptr;
  std::optional<SaveSliceInfo> save_slice_info{};
  bool named = false;  ///< by get_variable: no name then means the scope itself, not "Variable"
};

/// The argument `var_list`: some variables, a collection of them, or none said.
class OptionalVariables : public std::optional<Collected<Variable>> {
 public:
  using std::optional<Collected<Variable>>::optional;
  OptionalVariables() = default;
  OptionalVariables(std::initializer_list<Variable> variables)  // NOLINT: {.var_list = {w, b}}
      : std::optional<Collected<Variable>>(Collected<Variable>(variables)) {}
};

}  // namespace towerflow::types

namespace towerflow {

/// All variables but local ones, in the order of their creation. (tf.global_variables)
Collected<Variable> global_variables(const std::optional<std::string>& scope = std::nullopt);
Collected<Variable> local_variables(const std::optional<std::string>& scope = std::nullopt);
Collected<Variable> trainable_variables(const std::optional<std::string>& scope = std::nullopt);
Collected<Variable> model_variables(const std::optional<std::string>& scope = std::nullopt);
Collected<Variable> moving_average_variables(
    const std::optional<std::string>& scope = std::nullopt);

/// An operation that runs the initializers of the variables. (tf.variables_initializer)
Operation variables_initializer(const std::vector<Variable>& variables, std::string name = "init",
                                Site site = Site::current());
Operation global_variables_initializer(Site site = Site::current());
Operation local_variables_initializer(Site site = Site::current());

}  // namespace towerflow
