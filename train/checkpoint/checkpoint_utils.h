#pragma once

#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/graph/arguments.h"
#include "core/graph/array.h"
#include "ops/variables/variable.h"

namespace towerflow {
class TensorBundleReader;
}  // namespace towerflow

namespace towerflow::train::types {

/// Reads the values in a checkpoint, whatever graph they were saved from. A cheap handle;
/// thread-safe. (tf.train.NewCheckpointReader)
class CheckpointReader {
 public:
  /// `filepattern` is what Saver::save returned. Throws NotFoundError if there is no such
  /// checkpoint and DataLossError if it is damaged.
  explicit CheckpointReader(const Text& filepattern);

  bool has_tensor(const std::string& name) const;
  /// Returns a value. Throws NotFoundError if the checkpoint lacks it, DataLossError if it is
  /// damaged, UnimplementedError if it has parts or a dtype that this library lacks.
  Array get_tensor(const std::string& name) const;
  std::map<std::string, Shape> get_variable_to_shape_map() const;
  /// A dtype that this library lacks is DType::invalid.
  std::map<std::string, DType> get_variable_to_dtype_map() const;

 private:
  std::shared_ptr<const TensorBundleReader> reader_;
};

/// What `init_from_checkpoint` sets: a variable, or the name of one or of a scope.
using AssignmentTarget = std::variant<std::string, Variable>;
/// Names in a checkpoint and what they set.
class AssignmentMap {
 public:
  AssignmentMap(std::initializer_list<std::pair<std::string, AssignmentTarget>> items)  // NOLINT
      : items_(items.begin(), items.end()) {}
  AssignmentMap(const std::map<std::string, Variable>& variables)  // NOLINT
      : items_(variables.begin(), variables.end()) {}
  AssignmentMap(const std::map<std::string, std::string>& names)  // NOLINT
      : items_(names.begin(), names.end()) {}

  const std::vector<std::pair<std::string, AssignmentTarget>>& items() const { return items_; }

 private:
  std::vector<std::pair<std::string, AssignmentTarget>> items_;
};

struct WaitForCheckpointOptions {
  ByName by_name = ByName();
  double seconds_to_sleep = 1;      ///< between two looks
  std::optional<double> timeout{};  ///< in seconds; waits forever if absent
};

}  // namespace towerflow::train::types

namespace towerflow::train {

/// Returns a reader of the checkpoint. (tf.train.NewCheckpointReader)
inline CheckpointReader NewCheckpointReader(const Text& filepattern) {
  return CheckpointReader(filepattern);
}

/// Returns a reader of a checkpoint, or of the newest one in a folder. Throws ValueError for a
/// folder without checkpoints, and like CheckpointReader. (tf.train.load_checkpoint)
CheckpointReader load_checkpoint(const Text& ckpt_dir_or_file);
/// Returns the value of a variable in a checkpoint; ":0" at the end of the name is ignored. Throws
/// like load_checkpoint and CheckpointReader::get_tensor. (tf.train.load_variable)
Array load_variable(const Text& ckpt_dir_or_file, const std::string& name);
/// Returns names and shapes of all variables in a checkpoint, ordered by name. Throws like
/// load_checkpoint. (tf.train.list_variables)
std::vector<std::pair<std::string, Shape>> list_variables(const Text& ckpt_dir_or_file);

/// Makes the initializers of variables read a checkpoint:
///
///     tf::train::init_from_checkpoint("runs/a", {{"conv1/weights", "net/conv1/weights"}});
///     tf::train::init_from_checkpoint("runs/a", {{"conv1/", "net/conv1/"}});  // a whole scope
///     tf::train::init_from_checkpoint("runs/a", {{"w", weights}});            // a variable
///
/// "/" in the checkpoint is the scope of all names there. The names of variables are those of
/// get_variable. The values are read when the initializers run, so this call comes before
/// `global_variables_initializer`.
///
/// errors   ValueError: a name that the checkpoint lacks, shapes that do not match, a scope for a
///          single tensor; UnimplementedError: a partitioned variable; those of load_checkpoint
/// source   tf.train.init_from_checkpoint
void init_from_checkpoint(const Text& ckpt_dir_or_file, const AssignmentMap& assignment_map,
                          Site site = Site::current());

/// Waits until the newest checkpoint of a folder is another than `last_checkpoint`, and returns its
/// prefix; nothing after the timeout. (tf.train.wait_for_new_checkpoint)
std::optional<std::string> wait_for_new_checkpoint(
    const Text& checkpoint_dir, const std::optional<std::string>& last_checkpoint = std::nullopt,
    WaitForCheckpointOptions options = {});
inline std::optional<std::string> wait_for_new_checkpoint(const Text& checkpoint_dir,
                                                          WaitForCheckpointOptions options) {
  return wait_for_new_checkpoint(checkpoint_dir, std::nullopt, options);
}

}  // namespace towerflow::train
