#pragma once

#include <optional>
#include <string>

#include "data/lock_file.h"

namespace towerflow::train {

/// Returns whether there is a checkpoint with this prefix: its index, or the single file of
/// TensorFlow's old V1 format. (tf.train.checkpoint_exists)
bool checkpoint_exists(const std::string& checkpoint_prefix);

/// Deletes the files of a checkpoint: the index first, so that a partly deleted checkpoint is not
/// taken for a complete one, then the data files and the graph that TensorFlow may have put beside
/// them (PREFIX.meta). Skips missing files; logs a warning for a file that cannot be deleted.
/// (tf.train.remove_checkpoint)
void remove_checkpoint(const std::string& checkpoint_prefix);

/// Returns whether the files of this prefix are directly in `folder`. Links, `..` and relative
/// paths are resolved in both.
bool is_in_folder(const std::string& checkpoint_prefix, const std::string& folder);

/// Marks a checkpoint whose files may exist while the state file `latest_filename` beside them does
/// not list it, with a file `.NAME.unlisted` that is locked for the lifetime of the result.
/// Meanwhile no other process writes or deletes the same checkpoint; if this process is killed,
/// `remove_unlisted_checkpoints` finds what it left. `latest_filename` is empty for a checkpoint
/// that no state file will list. Returns nothing if the mark cannot be created: writing the
/// checkpoint gives a better error.
std::optional<LockFile> mark_unlisted(const std::string& checkpoint_prefix,
                                      const std::string& latest_filename, LockFile::Others others);

/// Deletes the checkpoints in `folder` that were marked by killed processes and are not listed in
/// their state file. Deletes only files directly in the folder.
void remove_unlisted_checkpoints(const std::string& folder) noexcept;

}  // namespace towerflow::train
