#include "train/folder_lock.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "core/graph/error.h"
#include "core/graph/log.h"
#include "data/host_name.h"

namespace towerflow::train {
namespace {

LockFile lock_file(const std::filesystem::path& folder) {
  return LockFile::make(
      folder / "train.lock",
      fmt::format(
          "process {} on {} since {:%Y-%m-%d %H:%M:%S} UTC\n", ::getpid(), host_name(),
          fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now()))),
      LockFile::Others::refuse);
}

/// Returns the first line of the lock file. Replaces unprintable characters: anybody may write
/// there.
std::string holder_of(const LockFile& file) {
  std::string text = file.content().substr(0, file.content().find('\n'));
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return text.empty() ? "another process" : text;
}

}  // namespace

FolderLock::FolderLock(const std::filesystem::path& folder) : file_(lock_file(folder)) {
  if (file_.state() == LockFile::State::taken)
    throw errors::UnavailableError(
        fmt::format("a training is using the folder '{}': {}", folder.string(), holder_of(file_)),
        {.hint = "choose another folder, or wait until it has ended"});
  if (file_.state() == LockFile::State::unsupported)
    log_message(LogLevel::warning,
                fmt::format("'{}' cannot be locked: a second training there would not be noticed, "
                            "and each would delete the other's checkpoints",
                            folder.string()));
}

}  // namespace towerflow::train
