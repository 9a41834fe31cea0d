#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace towerflow {

/// A file that is there, and locked, while its maker is at work.
///
/// The lock ends with the process: what a killed one left is no obstacle and is replaced. A file
/// that is already there is never written to, and links are not followed. Move-only; the destructor
/// removes the file.
class LockFile {
 public:
  enum class State {
    held,        ///< by this object
    taken,       ///< by another process, or another object of this one
    unsupported  ///< the file system has no locks, nobody can tell
  };
  enum class Others { wait, refuse };  ///< what is done about somebody who holds it

  /// Makes `path`, with `content` for those who find it taken. State::taken only where others are
  /// to be refused. Throws what creating a file throws, FailedPreconditionError for what is there
  /// and no file.
  static LockFile make(const std::filesystem::path& path, std::string_view content, Others others);
  /// Locks the file that a killed process left at `path`; State::taken where somebody is at work,
  /// or where there is no such file. Throws nothing but ValueError for a zero byte.
  static LockFile adopt(const std::filesystem::path& path);

  LockFile(LockFile&& other) noexcept;
  LockFile& operator=(LockFile&&) = delete;
  ~LockFile();

  State state() const { return state_; }
  /// What the file holds, up to 256 bytes.
  const std::string& content() const { return content_; }
  /// Sets whether the file stays when the lock is released.
  void set_kept(bool kept) { kept_ = kept; }

 private:
  LockFile(std::filesystem::path path, int descriptor, State state, std::string content)
      : path_(std::move(path)),
        descriptor_(descriptor),
        state_(state),
        content_(std::move(content)) {}

  std::filesystem::path path_;
  int descriptor_ = -1;  // of the file while it is held
  State state_ = State::taken;
  bool kept_ = false;
  std::string content_;
};

/// Creates the file `path` for writing, locked as above; -1 with errno where that fails, EEXIST for
/// a name that is taken. On a file system without locks it is not locked.
int create_locked(const std::filesystem::path& path) noexcept;

}  // namespace towerflow
