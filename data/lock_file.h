#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace towerflow {

/// A file that exists, and is locked, while its owner is at work.
///
/// The lock ends with the process, so that a file left by a killed process is replaced. The content
/// of an existing file is never changed, and links are not followed. Move-only; the destructor
/// removes the file.
class LockFile {
 public:
  enum class State {
    held,        ///< by this object
    taken,       ///< by another process or another object in this process
    unsupported  ///< the file system has no locks, so nobody can tell
  };
  enum class Others { wait, refuse };  ///< what to do if someone else holds it

  /// Creates and locks `path`, with `content` for others who find it taken. The state can be
  /// `taken` only with Others::refuse. Throws what creating a file throws, and
  /// FailedPreconditionError if `path` is not a regular file.
  static LockFile make(const std::filesystem::path& path, std::string_view content, Others others);
  /// Locks the file that a killed process left at `path`. The state is `taken` if someone else
  /// holds it or there is no such file. Throws only ValueError, for a path with a zero byte.
  static LockFile adopt(const std::filesystem::path& path);

  LockFile(LockFile&& other) noexcept;
  LockFile& operator=(LockFile&&) = delete;
  ~LockFile();

  State state() const { return state_; }
  /// The file's content, at most 256 bytes.
  const std::string& content() const { return content_; }
  /// Sets whether the file stays when the lock is released.
  void set_keep_file(bool kept) { kept_ = kept; }

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

/// Creates the file `path` for writing and locks it as above; returns -1 and sets errno if that
/// fails, to EEXIST if the name is taken. On a file system without locks, the file is not locked.
int create_locked(const std::filesystem::path& path) noexcept;

}  // namespace towerflow
