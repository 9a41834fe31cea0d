#pragma once

#include <optional>
#include <string>

#include "data/lock_file.h"

namespace towerflow::train {

/// Whether there is a checkpoint with this prefix: its index, or the single file of TensorFlow's
/// old V1 format. (tf.train.checkpoint_exists)
bool checkpoint_exists(const std::string& checkpoint_prefix);

/// Deletes the files of a checkpoint: the index first, so that no half of one is taken for a whole,
/// then the data files and a graph that TensorFlow may have put beside them (PREFIX.meta). Files
/// that are not there are passed over; one that cannot be deleted is a warning.
/// (tf.train.remove_checkpoint)
void remove_checkpoint(const std::string& checkpoint_prefix);

/// Returns whether the files of this prefix are directly in `folder`. Links, `..` and relative
/// paths are resolved in both.
bool is_in_folder(const std::string& checkpoint_prefix, const std::string& folder);

/// Marks a checkpoint whose files may be there while the state file `latest_filename` beside them
/// does not list it: `.NAME.unlisted`, locked as long as the result lives. Keeps others from
/// writing and deleting the same checkpoint meanwhile, and what a killed process leaves of it is
/// found by `remove_unlisted_checkpoints`. An empty `latest_filename` for one that no state file is
/// to list. Nothing where no such file can be made: writing the checkpoint says better why.
std::optional<LockFile> mark_unlisted(const std::string& checkpoint_prefix,
                                      const std::string& latest_filename, LockFile::Others others);

/// Deletes the checkpoints of `folder` that were marked by killed processes and that their state
/// file does not list. Only files in the folder itself are deleted. Throws nothing.
void remove_unlisted_checkpoints(const std::string& folder) noexcept;

}  // namespace towerflow::train
