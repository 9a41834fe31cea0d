#pragma once

#include <filesystem>

#include "data/lock_file.h"

namespace towerflow::train {

/// Keeps every other training out of a folder for as long as it lives.
///
/// The file `train.lock` there says whose it is: process, machine and start. What a killed process
/// left of it is no obstacle; reading checkpoints needs no lock. On a file system without locks a
/// warning says that nobody is kept out. Throws UnavailableError, which names the other process,
/// where one has the folder, and what creating a file throws, as in a read-only folder.
class FolderLock {
 public:
  explicit FolderLock(const std::filesystem::path& folder);

 private:
  LockFile file_;
};

}  // namespace towerflow::train
