#pragma once

#include <filesystem>

#include "data/lock_file.h"

namespace towerflow::train {

/// Locks a folder against other trainings for the lifetime of the object.
///
/// The file `train.lock` in the folder names the owner: process, machine and start time. A lock
/// file left by a killed process does not block; reading checkpoints needs no lock. On a file
/// system without locks, logs a warning that other trainings would not be noticed. Throws
/// UnavailableError naming the owner if the folder is locked, and the errors of creating a file, as
/// in a read-only folder.
class FolderLock {
 public:
  explicit FolderLock(const std::filesystem::path& folder);

 private:
  LockFile file_;
};

}  // namespace towerflow::train
