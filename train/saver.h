#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/arguments.h"
#include "train/saveable.h"

namespace towerflow::types {
class Session;
}

namespace towerflow::train::types {

struct SaverOptions {
  ByName by_name = ByName();
  /// What is saved and restored; VarList::all() when not given.
  std::optional<VarList> var_list{};
  /// How many checkpoints to keep, the newest; 0 for all.
  int max_to_keep = 5;
  /// Of those that would be deleted, one every so many hours stays.
  double keep_checkpoint_every_n_hours = 10000.0;
  std::string name{};        ///< of the name scope, "save"
  bool allow_empty = false;  ///< nothing to save is no error; then `save` and `restore` do nothing
  bool pad_step_number = false;      ///< model.ckpt-00000100 instead of model.ckpt-100
  bool save_relative_paths = false;  ///< in the state file, so that its folder can be moved
  std::string filename{};            ///< prefix used when the nodes are run by themselves
};

/// The number of a checkpoint: an integer, or a tensor or variable that holds it.
class GlobalStep {
 public:
  GlobalStep(std::integral auto step) : number_(static_cast<std::int64_t>(step)) {}  // NOLINT
  GlobalStep(const Tensor& tensor);                                                  // NOLINT
  GlobalStep(const Variable& variable);                                              // NOLINT

  /// Runs `session` for a tensor. Throws TypeError for one that is no integer.
  std::int64_t value(Session& session) const;

 private:
  std::int64_t number_ = 0;
  bool is_number_ = true;
  Tensor tensor_;  // unless it is a number
};

struct SaverSaveOptions {
  std::optional<GlobalStep> global_step{};  ///< appended to the path: "model.ckpt-100"
  std::string latest_filename = "checkpoint";
  bool write_state = true;  ///< write the state file and delete what is over max_to_keep
};

/// Names of the nodes that a Saver made. (tf.train.SaverDef)
struct SaverDef {
  std::string filename_tensor_name;
  std::string save_tensor_name;
  std::string restore_op_name;

  bool operator==(const SaverDef&) const = default;
};

/// Saves variables to checkpoints in TensorFlow's V2 format and restores them. (tf.train.Saver)
///
/// The constructor appends TensorFlow's nodes (`save/SaveV2`, `save/RestoreV2`, `save/Assign`, ...,
/// `save/restore_all`) to the graph of the variables; nothing enters a collection. A cheap handle:
/// copies share the list of checkpoints. One thread at a time may save.
class Saver {
 public:
  /// Throws ValueError: nothing to save, a name twice, a variable under two names.
  explicit Saver(SaverOptions options = {}, Site site = Site::current());
  /// Saves what is named: `Saver({w, b})`, `Saver({{"name in the file", w}})`. Throws ValueError
  /// also for a name given twice and a variable under two names.
  explicit Saver(std::initializer_list<SaverItem> var_list, SaverOptions options = {},
                 Site site = Site::current());
  explicit Saver(std::initializer_list<NamedItem> var_list, SaverOptions options = {},
                 Site site = Site::current());
  // Templates, so that `Saver({.var_list = list})` means the options: g++ 12 overlooks the member's
  // name, tries every constructor with `{list}`, that of a copy too, and prefers what is no
  // template.
  template <class = void>
  explicit Saver(const std::vector<Variable>& var_list, SaverOptions options = {},
                 Site site = Site::current())
      : Saver(add_var_list(var_list, std::move(options)), site) {}
  template <class = void>
  explicit Saver(const std::map<std::string, Variable>& var_list, SaverOptions options = {},
                 Site site = Site::current())
      : Saver(add_var_list(var_list, std::move(options)), site) {}
  Saver(Saver& other) = default;
  template <std::same_as<Saver> Other>
  Saver(const Other& other) : state_(other.state_) {}  // NOLINT: a copy
  Saver& operator=(const Saver& other) = default;

  /// Writes all values as they are between two writes to each variable, in one run; returns the
  /// prefix of the files, to be given to `restore`: "path" or "path-step"; "" when empty.
  ///
  /// The files appear whole or not at all, then the state file beside them names them, then the
  /// oldest checkpoint beyond max_to_keep is deleted. What a process that was killed in the middle
  /// leaves, the next one deletes at its first save into the folder. Processes that save to the
  /// same path do so one after another. Memory: the variables are written from where they lie.
  /// Throws ValueError: `latest_filename` with a folder or equal to the path's last part, a folder
  /// that does not exist, a path with a zero byte; FailedPreconditionError: an uninitialised
  /// variable; what writing throws.
  std::string save(Session& session, const Text& save_path, const SaverSaveOptions& options = {},
                   Site site = Site::current());

  /// Sets the variables to what the checkpoint holds; they need not be initialised. No variable
  /// changes when it throws.
  /// Throws ValueError: no checkpoint there, a path with a zero byte; NotFoundError: it lacks a
  /// variable (the hint lists them and names near); InvalidArgumentError: another dtype or shape;
  /// DataLossError: damage.
  void restore(Session& session, const std::string& save_path, Site site = Site::current()) const;

  /// Prefixes of the checkpoints not yet deleted, oldest first.
  std::vector<std::string> last_checkpoints() const;
  /// Takes over checkpoints of an earlier run, oldest first; those that are gone are passed over.
  /// When their turn comes they are deleted only where they lie in the folder that is saved to:
  /// the paths may be from a state file that anybody wrote.
  void recover_last_checkpoints(const std::vector<std::string>& checkpoint_paths);

  const SaverDef& as_saver_def() const;
  /// Makes a Saver of existing nodes, those of an imported graph.
  static Saver from_nodes(const Tensor& filename, const Tensor& saved, const Operation& restored,
                          SaverOptions options);

 private:
  static SaverOptions add_var_list(VarList list, SaverOptions options);
  std::string save_values(Session& session, const std::string& save_path,
                          const SaverSaveOptions& options);
  void restore_values(Session& session, const std::string& save_path) const;

  struct State;
  explicit Saver(std::shared_ptr<State> state) : state_(std::move(state)) {}

  std::shared_ptr<State> state_;
};

}  // namespace towerflow::train::types
