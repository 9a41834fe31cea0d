#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/graph/arguments.h"
#include "core/graph/types.h"

namespace towerflow::train::types {

/// The text file `checkpoint` of a training folder: which checkpoints there are, oldest first.
struct CheckpointState {
  std::string model_checkpoint_path;                    ///< prefix of the newest
  std::vector<std::string> all_model_checkpoint_paths;  ///< prefixes, the newest last
  std::vector<double> all_model_checkpoint_timestamps;  ///< seconds since 1970; empty or one a path
  double last_preserved_timestamp = 0;                  ///< 0 when unset

  bool operator==(const CheckpointState&) const = default;
};

struct UpdateCheckpointStateOptions {
  ByName by_name = ByName();
  std::string latest_filename = "checkpoint";
  std::vector<double> all_model_checkpoint_timestamps = {};
  double last_preserved_timestamp = 0;
  /// Absolute paths are written relative to the folder, so that it can be moved.
  bool save_relative_paths = false;
};

}  // namespace towerflow::train::types

namespace towerflow::train {

/// Writes the state file of `save_dir`, whole or not at all.
///
/// `model_checkpoint_path` is appended to `all_model_checkpoint_paths` where it is not the last.
/// Relative paths are meant from the working directory; as in TensorFlow they are written relative
/// to `save_dir` when that is relative too, and as they are otherwise. Throws ValueError when there
/// are timestamps but not one a path, RuntimeError when the checkpoint has the state file's own
/// path, and what writing a file throws.
void update_checkpoint_state(const std::string& save_dir, const Text& model_checkpoint_path,
                             std::span<const std::string> all_model_checkpoint_paths = {},
                             const UpdateCheckpointStateOptions& options = {});
inline void update_checkpoint_state(const std::string& save_dir, const Text& model_checkpoint_path,
                                    std::initializer_list<std::string> all_model_checkpoint_paths,
                                    const UpdateCheckpointStateOptions& options = {}) {
  update_checkpoint_state(
      save_dir, model_checkpoint_path,
      std::span(all_model_checkpoint_paths.begin(), all_model_checkpoint_paths.size()), options);
}
inline void update_checkpoint_state(const std::string& save_dir, const Text& model_checkpoint_path,
                                    const UpdateCheckpointStateOptions& options) {
  update_checkpoint_state(save_dir, model_checkpoint_path, std::span<const std::string>(), options);
}

/// The state file of `checkpoint_dir`, relative paths joined to that folder; nothing without a file
/// and, with a warning, for one that cannot be read or parsed. Throws ValueError for one that names
/// no checkpoint.
std::optional<CheckpointState> get_checkpoint_state(
    const std::string& checkpoint_dir, const std::string& latest_filename = "checkpoint");

/// The prefix of the newest checkpoint of a folder, to be given to restore; nothing without a state
/// file and, with a warning, when the files that it names are gone. Throws as get_checkpoint_state.
std::optional<std::string> latest_checkpoint(const std::string& checkpoint_dir,
                                             const std::string& latest_filename = "checkpoint");

}  // namespace towerflow::train
