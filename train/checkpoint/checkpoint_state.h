#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/graph/arguments.h"
#include "core/graph/types.h"

namespace towerflow::train::types {

/// The state file `checkpoint` of a training folder, a text file that lists its checkpoints.
struct CheckpointState {
  std::string model_checkpoint_path;                    ///< prefix of the newest
  std::vector<std::string> all_model_checkpoint_paths;  ///< prefixes, the newest last
  std::vector<double> all_model_checkpoint_timestamps;  ///< Unix seconds; empty or one per path
  double last_preserved_timestamp = 0;                  ///< 0 when unset

  bool operator==(const CheckpointState&) const = default;
};

struct UpdateCheckpointStateOptions {
  ByName by_name = ByName();
  std::string latest_filename = "checkpoint";
  std::vector<double> all_model_checkpoint_timestamps = {};
  double last_preserved_timestamp = 0;
  /// Writes absolute paths relative to the folder, so that it can be moved.
  bool save_relative_paths = false;
};

}  // namespace towerflow::train::types

namespace towerflow::train {

/// Writes the state file of `save_dir` atomically.
///
/// Appends `model_checkpoint_path` to `all_model_checkpoint_paths` unless it is the last one there.
/// Relative paths are taken from the working directory; as in TensorFlow, they are written relative
/// to `save_dir` if that is relative too, and unchanged otherwise. Throws ValueError if there are
/// timestamps but not one per path, RuntimeError if the checkpoint has the path of the state file
/// itself, and the errors of writing a file.
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

/// Returns the state file of `checkpoint_dir`, with relative paths joined to that folder; nothing
/// if there is no file or, with a warning, if it cannot be read or parsed. Throws ValueError if it
/// names no checkpoint.
std::optional<CheckpointState> get_checkpoint_state(
    const std::string& checkpoint_dir, const std::string& latest_filename = "checkpoint");

/// Returns the prefix of the newest checkpoint in a folder, to be passed to restore; nothing if
/// there is no state file or, with a warning, if the files that it names are missing. Throws like
/// get_checkpoint_state.
std::optional<std::string> latest_checkpoint(const std::string& checkpoint_dir,
                                             const std::string& latest_filename = "checkpoint");

}  // namespace towerflow::train
