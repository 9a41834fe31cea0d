#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "data/file.h"

namespace towerflow {

/// A new file that others read while it grows: its name is there from the start, unlike
/// AtomicFile's, and it ends between two pieces at any time, but for a crash of the machine or a
/// process killed in the middle of a write.
class AppendFile {
 public:
  /// Throws AlreadyExistsError for a name that is taken, NotFoundError when the folder does not
  /// exist, PermissionDeniedError, ...
  explicit AppendFile(std::filesystem::path path);
  ~AppendFile();
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;

  const std::filesystem::path& path() const { return path_; }

  /// Appends a piece; it is kept in memory until `flush`, or until 256 KiB have come together.
  void append(std::string_view piece);
  /// Hands what was appended to the system, so that other processes see it. Where that fails, with
  /// ResourceExhaustedError on a full disk, the file is cut back to what the last successful flush
  /// left, and the pieces since then are kept for another try.
  void flush();
  /// Flushes, writes through to the disk and closes; call it once.
  void close();

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  std::string buffer_;
  std::uint64_t flushed_ = 0;
};

}  // namespace towerflow
