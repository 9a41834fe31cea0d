#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "data/file.h"

namespace towerflow {

/// A new file that other processes can read while it grows. Unlike an AtomicFile's, its name exists
/// from the start. It always ends after a whole piece, unless the machine crashes or the process is
/// killed during a write.
class AppendFile {
 public:
  /// Throws AlreadyExistsError if the name is taken, NotFoundError if the folder does not exist,
  /// PermissionDeniedError, ...
  explicit AppendFile(std::filesystem::path path);
  ~AppendFile();
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;

  const std::filesystem::path& path() const { return path_; }

  /// Appends a piece, which stays in memory until `flush` or until 256 KiB have accumulated.
  void append(std::string_view piece);
  /// Hands the appended pieces to the operating system, so that other processes see them. If that
  /// fails, with ResourceExhaustedError on a full disk, truncates the file to its state after the
  /// last successful flush and keeps the pieces since then for another attempt.
  void flush();
  /// Flushes, syncs to the disk and closes; call it once.
  void close();

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  std::string buffer_;
  std::uint64_t flushed_ = 0;
};

}  // namespace towerflow
