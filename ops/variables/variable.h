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

/// When the copies of a variable on several devices are synchronized. Variables here have one copy,
/// so that it only decides whether a variable is trainable. (tf.VariableSynchronization)
enum class VariableSynchronization { AUTO, NONE, ON_WRITE, ON_READ };
/// How copies are aggregated; has no effect. (tf.VariableAggregation)
enum class VariableAggregation { NONE, SUM, MEAN, ONLY_FIRST_REPLICA };

/// Returns the value that replaces an updated value: its projection onto a norm or range.
/// Optimizers apply it after each update. (the `constraint` of tf.get_variable)
using Constraint = std::function<Tensor(const Tensor& value)>;

struct VariableOptions {
  std::optional<bool> trainable{};  ///< default true, false with ON_READ
  /// Collections that it is added to, by default GLOBAL_VARIABLES. A trainable variable is added to
  /// TRAINABLE_VARIABLES as well.
  std::optional<std::vector<std::string>> collections{};
  bool validate_shape = true;
  std::optional<DeviceOrFunction> caching_device{};  ///< where `w/read` is placed
  std::string name{};
  std::optional<DType> dtype{};
  Constraint constraint{};
  /// true is rejected: there are no resource variables, and reads of these are ordered anyway.
  std::optional<bool> use_resource{};
  VariableSynchronization synchronization = VariableSynchronization::AUTO;
  VariableAggregation aggregation = VariableAggregation::NONE;
  /// Shape of the storage if not the initial value's: Shape::unknown() accepts values of any shape.
  std::optional<Shape> shape{};
  /// Where the value is stored: by default with the variable that this one is colocated with, as a
  /// slot is, else on the host.
  std::optional<VariableHome> home{};
};

struct UpdateOptions {
  bool use_locking = false;  ///< no effect: updates are always atomic
  std::string name{};
};

struct ScatterNdMethodOptions {
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
/// Returns the home of the variable that new nodes are colocated with; nullopt if there is none.
std::optional<VariableHome> colocated_home(Graph& graph);
/// Returns a handle of existing nodes, those of an imported graph.
Variable variable_of(VariableRecord record);
/// Returns a handle of a partitioned variable.
Variable partitioned_variable(PartitionedParts parts, Site site);
/// Replaces the operation and the value that all handles of a variable start from.
void replace_initializer(const Variable& variable, const Operation& initializer,
                         const Tensor& initial_value);

}  // namespace towerflow

namespace towerflow::types {

/// The position of a part in its partitioned variable. (tf.Variable.SaveSliceInfo)
struct SaveSliceInfo {
  std::string full_name;
  Shape full_shape;
  PartSlice slice;
};

/// A value that is stored in a session, and that runs read and update. A cheap handle; in an
/// expression it stands for its value. (tf.Variable, reference variables)
///
/// Consists of the nodes `w` (the storage), `w/Assign` (its initializer) and `w/read` (its value).
/// A partitioned variable consists of variables instead, its parts, and has no storage; functions
/// that need one throw NotImplementedError.
class Variable {
 public:
  Variable() = default;
  /// Makes a variable with this initial value, in the current name scope.
  explicit Variable(const Operand& initial_value, VariableOptions options = {},
                    Site site = Site::current());
  /// With the value that the function makes, called inside the variable's `Initializer` scope.
  explicit Variable(InitialValueFunction initial_value, VariableOptions options = {},
                    Site site = Site::current());

  bool valid() const { return record_ != nullptr; }
  std::string name() const;  ///< "conv1/weights:0"; "conv1/weights" if partitioned
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
  /// Returns "w/read:0"; for a partitioned variable its parts, concatenated by new nodes each time.
  Tensor value() const;
  Operation initializer() const;  ///< "w/Assign"
  Tensor initial_value() const;
  /// Returns the value if there is one, else the initial value; for use in the initial values of
  /// other variables. (initialized_value)
  Tensor initialized_value(Site site = Site::current()) const;
  /// Returns a new read, placed on the tape after the writes made before it. (read_value)
  Tensor read_value(Site site = Site::current()) const;
  /// See tf::assign, tf::assign_add and tf::assign_sub.
  Tensor assign(const Operand& value, UpdateOptions options = {},
                Site site = Site::current()) const;
  Tensor assign_add(const Operand& delta, UpdateOptions options = {},
                    Site site = Site::current()) const;
  Tensor assign_sub(const Operand& delta, UpdateOptions options = {},
                    Site site = Site::current()) const;
  /// Change the rows that slices name; see tf::scatter_update and so on.
  Tensor scatter_update(const IndexedSlices& sparse_delta, UpdateOptions options = {},
                        Site site = Site::current()) const;
  Tensor scatter_add(const IndexedSlices& sparse_delta, UpdateOptions options = {},
                     Site site = Site::current()) const;
  Tensor scatter_sub(const IndexedSlices& sparse_delta, UpdateOptions options = {},
                     Site site = Site::current()) const;
  Tensor scatter_mul(const IndexedSlices& sparse_delta, UpdateOptions options = {},
                     Site site = Site::current()) const;
  Tensor scatter_div(const IndexedSlices& sparse_delta, UpdateOptions options = {},
                     Site site = Site::current()) const;
  Tensor scatter_min(const IndexedSlices& sparse_delta, UpdateOptions options = {},
                     Site site = Site::current()) const;
  Tensor scatter_max(const IndexedSlices& sparse_delta, UpdateOptions options = {},
                     Site site = Site::current()) const;
  /// See tf::scatter_nd_update, tf::scatter_nd_add and tf::scatter_nd_sub.
  Tensor scatter_nd_update(const Operand& indices, const Operand& updates,
                           ScatterNdMethodOptions options = {}, Site site = Site::current()) const;
  Tensor scatter_nd_add(const Operand& indices, const Operand& updates,
                        ScatterNdMethodOptions options = {}, Site site = Site::current()) const;
  Tensor scatter_nd_sub(const Operand& indices, const Operand& updates,
                        ScatterNdMethodOptions options = {}, Site site = Site::current()) const;
  const Constraint& constraint() const;
  /// Returns a part of the value, as of a tensor. (tf.Variable.__getitem__)
  Tensor operator[](const Indices& at) const { return value()[at]; }
  /// Returns the value in the default session, or in `session`. (tf.Variable.eval)
  Array eval(Site site = Site::current()) const;
  Array eval(Session& session, Site site = Site::current()) const;

  bool partitioned() const;
  /// Returns the parts of a partitioned variable in order; none for other variables.
  const std::vector<Variable>& parts() const;
  const std::vector<int>& partitions() const;  ///< number of parts in each dimension
  /// Returns the position of a part in its partitioned variable; nullopt for other variables.
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
  friend void towerflow::replace_initializer(const Variable& variable, const Operation& initializer,
                                             const Tensor& initial_value);
  const VariableRecord& record() const;
  const VariableRecord& unpartitioned_record() const;  ///< throws for a partitioned variable

  std::shared_ptr<VariableRecord> record_;
};

inline std::string collection_name(const Variable& variable) { return variable.name(); }

/// The parts of a partitioned variable and what they form.
struct PartitionedParts {
  std::string name;
  Shape shape;
  std::vector<int> partitions;
  std::vector<Variable> variables;
};

/// What a handle refers to: nodes, or the parts of a partitioned variable.
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

/// What an initializer is given besides the options.
struct VariableRequest {
  DType dtype = DType::float32;
  const Shape* shape = nullptr;  ///< if the initializer takes one
  const PartitionInfo* partition = nullptr;
  std::optional<SaveSliceInfo> save_slice_info{};
  bool named = false;  ///< by get_variable: an empty name is the scope itself, not "Variable"
};

/// The argument `var_list`: some variables, a collection of them, or nothing.
class OptionalVariables : public std::optional<Collected<Variable>> {
 public:
  using std::optional<Collected<Variable>>::optional;
  OptionalVariables() = default;
  OptionalVariables(std::initializer_list<Variable> variables)  // NOLINT: {.var_list = {w, b}}
      : std::optional<Collected<Variable>>(Collected<Variable>(variables)) {}
};

}  // namespace towerflow::types

namespace towerflow {

/// Returns all variables but local ones, in order of creation. (tf.global_variables)
Collected<Variable> global_variables(const std::optional<std::string>& scope = std::nullopt);
Collected<Variable> local_variables(const std::optional<std::string>& scope = std::nullopt);
Collected<Variable> trainable_variables(const std::optional<std::string>& scope = std::nullopt);
Collected<Variable> model_variables(const std::optional<std::string>& scope = std::nullopt);
Collected<Variable> moving_average_variables(
    const std::optional<std::string>& scope = std::nullopt);

/// Returns an operation that runs the initializers of the variables. (tf.variables_initializer)
Operation variables_initializer(const std::vector<Variable>& variables, std::string name = "init",
                                Site site = Site::current());
Operation global_variables_initializer(Site site = Site::current());
Operation local_variables_initializer(Site site = Site::current());

}  // namespace towerflow
