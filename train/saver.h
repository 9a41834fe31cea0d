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
  /// What to save and restore; VarList::all() if not given.
  std::optional<VarList> var_list{};
  /// Number of newest checkpoints to keep; 0 keeps all.
  int max_to_keep = 5;
  /// Keeps one checkpoint per this many hours that max_to_keep would delete.
  double keep_checkpoint_every_n_hours = 10000.0;
  std::string name{};                ///< of the name scope; "save" if empty
  bool allow_empty = false;          ///< accepts an empty list; save and restore then do nothing
  bool pad_step_number = false;      ///< model.ckpt-00000100 instead of model.ckpt-100
  bool save_relative_paths = false;  ///< in the state file, so that the folder can be moved
  std::string filename{};            ///< default prefix, used when the nodes are run directly
};

/// The step number of a checkpoint: an integer, or a tensor or variable that holds it.
class GlobalStep {
 public:
  GlobalStep(std::integral auto step) : number_(static_cast<std::int64_t>(step)) {}  // NOLINT
  GlobalStep(const Tensor& tensor);                                                  // NOLINT
  GlobalStep(const Variable& variable);                                              // NOLINT

  /// Returns the number; evaluates a tensor in `session`. Throws TypeError unless the value is an
  /// int32 or int64.
  std::int64_t value(Session& session) const;

 private:
  std::int64_t number_ = 0;
  bool is_number_ = true;
  Tensor tensor_;  // unless is_number_
};

struct SaverSaveOptions {
  std::optional<GlobalStep> global_step{};  ///< appended to the path: "model.ckpt-100"
  std::string latest_filename = "checkpoint";
  bool write_state = true;  ///< update the state file and delete checkpoints beyond max_to_keep
};

/// Names of a Saver's nodes. (tf.train.SaverDef)
struct SaverDef {
  std::string filename_tensor_name;
  std::string save_tensor_name;
  std::string restore_op_name;

  bool operator==(const SaverDef&) const = default;
};

/// Saves variables to checkpoints in TensorFlow's V2 format and restores them. (tf.train.Saver)
///
/// The constructor adds TensorFlow's nodes (`save/SaveV2`, `save/RestoreV2`, `save/Assign`, ...,
/// `save/restore_all`) to the graph of the variables and nothing to collections. A Saver is a cheap
/// handle: copies share the list of checkpoints. Only one thread at a time may save.
class Saver {
 public:
  /// Throws ValueError if there is nothing to save, a name occurs twice or a variable has two
  /// names.
  explicit Saver(SaverOptions options = {}, Site site = Site::current());
  /// Saves the listed items: `Saver({w, b})`, `Saver({{"name in the file", w}})`. Throws ValueError
  /// under the same conditions.
  explicit Saver(std::initializer_list<SaverItem> var_list, SaverOptions options = {},
                 Site site = Site::current());
  explicit Saver(std::initializer_list<NamedItem> var_list, SaverOptions options = {},
                 Site site = Site::current());
  // Templates, so that `Saver({.var_list = list})` selects the options constructor: g++ 12 ignores
  // the member's name, considers every constructor for `{list}`, including the copy constructor,
  // and prefers non-templates.
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

  /// Writes all values in one run and returns the prefix of the files, to be passed to `restore`:
  /// "path" or "path-step", or "" if there is nothing to save. Each variable is saved as it is
  /// between two writes.
  ///
  /// The files appear atomically. Then the state file beside them lists them, and then the oldest
  /// checkpoint beyond max_to_keep is deleted. A Saver's first save deletes what killed
  /// processes left in the folder. Processes that save to the same path take turns. Variables are
  /// written directly from their storage, without a copy. Throws ValueError if `latest_filename`
  /// contains a folder or equals the last part of the path, if the folder does not exist and cannot
  /// be created, or if a path contains a zero byte; FailedPreconditionError for an uninitialized
  /// variable; and write errors.
  std::string save(Session& session, const Text& save_path, const SaverSaveOptions& options = {},
                   Site site = Site::current());

  /// Sets the variables to the values in the checkpoint; they need not be initialized. If it
  /// throws, no variable has changed.
  /// Throws ValueError if there is no checkpoint or the path contains a zero byte; NotFoundError if
  /// the checkpoint lacks a variable (the hint lists the missing ones and similar names);
  /// InvalidArgumentError for a different dtype or shape; DataLossError for damaged files.
  void restore(Session& session, const std::string& save_path, Site site = Site::current()) const;
  /// Does the same with the result of `latest_checkpoint`. Throws ValueError if it found none.
  template <std::same_as<std::optional<std::string>> T>
  void restore(Session& session, const T& save_path, Site site = Site::current()) const {
    restore_found(session, save_path, site);
  }

  /// Returns the prefixes of the checkpoints that count towards max_to_keep, oldest first.
  std::vector<std::string> last_checkpoints() const;
  /// Replaces the list of checkpoints with those of an earlier run, oldest first, skipping those
  /// that no longer exist. Checkpoints in this list are deleted in their turn only if they are in
  /// the folder being saved to, since the paths may come from a state file written by anybody.
  void recover_last_checkpoints(const std::vector<std::string>& checkpoint_paths);

  const SaverDef& as_saver_def() const;
  /// Makes a Saver from existing nodes, such as those of an imported graph.
  static Saver from_nodes(const Tensor& filename, const Tensor& saved, const Operation& restored,
                          SaverOptions options);

 private:
  static SaverOptions add_var_list(VarList list, SaverOptions options);
  std::string save_values(Session& session, const std::string& save_path,
                          const SaverSaveOptions& options);
  void restore_found(Session& session, const std::optional<std::string>& save_path,
                     Site site) const;
  void restore_values(Session& session, const std::string& save_path) const;

  struct State;
  explicit Saver(std::shared_ptr<State> state) : state_(std::move(state)) {}

  std::shared_ptr<State> state_;
};

}  // namespace towerflow::train::types
