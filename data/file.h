#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/error.h"

namespace towerflow {

/// The buffer size for reading and writing files.
inline constexpr std::size_t kFileBufferBytes = 256 * 1024;

/// Returns the error code of an `errno` value, as TensorFlow maps them, except that a file over the
/// size limit (EFBIG) and a value too large (EOVERFLOW, ERANGE) are ResourceExhausted: to a
/// training loop, OutOfRange means the end of the input.
errors::Code code_of_errno(int error_number) noexcept;

/// Throws the error for `error_number`: "cannot open data/train.tfrecords: No such file or
/// directory". `action` is the verb: "open", "read", "write to".
[[noreturn]] void raise_file_error(int error_number, std::string_view action,
                                   const std::filesystem::path& path, std::string hint = {});

/// Throws ValueError for a path with a zero byte: the system would end the path there and take
/// another file.
void check_path(const std::filesystem::path& path);

/// A file open for reading. Sequential reads keep a position; positional reads neither use nor move
/// it and may come from several threads.
class InputFile {
 public:
  /// Throws NotFoundError, PermissionDeniedError, FailedPreconditionError (a folder), ...
  explicit InputFile(std::filesystem::path path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  /// Bytes in the file when it was opened; nothing for a pipe or a device, which has no size.
  std::optional<std::uint64_t> size() const { return size_; }
  /// Bytes in the file now, since another process may be writing to it.
  std::optional<std::uint64_t> size_now() const;
  /// Bytes read sequentially so far.
  std::uint64_t position() const { return position_; }

  /// Fills `out` from the position on and advances it; returns the number of bytes read, which is
  /// smaller than asked for only at the end of the file.
  std::size_t read(std::span<std::byte> out);
  /// The same from `offset`, without a position, for a file that has a size.
  std::size_t read_at(std::uint64_t offset, std::span<std::byte> out) const;
  /// Like `read_at`, but throws DataLossError if the file ends early.
  void read_exactly_at(std::uint64_t offset, std::span<std::byte> out) const;

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  std::optional<std::uint64_t> size_;
  std::uint64_t position_ = 0;
};

/// Reads the whole file; throws ResourceExhaustedError if it has more than `limit` bytes.
std::string read_file(const std::filesystem::path& path, std::uint64_t limit = 1ULL << 30);

/// Throws FailedPreconditionError if the path exists and is not a regular file but a pipe (opening
/// one may wait forever), a device or a folder.
void check_regular_file(const std::filesystem::path& path);

/// Creates the folder and its missing parents. Throws FailedPreconditionError if a file is in the
/// way, PermissionDeniedError, ...
void make_folder(const std::filesystem::path& path);

/// Deletes the file if it exists; throws FailedPreconditionError for a folder,
/// PermissionDeniedError, ...
void delete_file(const std::filesystem::path& path);

/// Returns the names of a folder's entries. Throws NotFoundError, PermissionDeniedError, ... (Used
/// instead of libstdc++ 12's directory iterator, which terminates the process if it gets no
/// memory.)
std::vector<std::string> list_folder(const std::filesystem::path& folder);

/// Deletes the temporary files that killed processes left in `folder`, but not those that a process
/// is still writing. Ignores files that cannot be deleted.
void remove_abandoned_files(const std::filesystem::path& folder) noexcept;

/// A file that appears complete or not at all.
///
/// Bytes go to a hidden temporary file in the same folder; `commit` syncs it to the disk, renames
/// it to `path` and syncs the folder. Without `commit`, the destructor removes the temporary file
/// and whatever was at `path` stays. After an error the object can only be destroyed. A killed
/// process may leave the temporary file behind (`.NAME.PID-N.tmp`), never a damaged `path`; the
/// next process that writes a file into the folder deletes it. Memory: one buffer of 256 KiB.
class AtomicFile {
 public:
  /// Creates the temporary file; throws NotFoundError if the folder does not exist,
  /// PermissionDeniedError, ResourceExhaustedError, ...
  explicit AtomicFile(std::filesystem::path path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  /// Bytes appended so far.
  std::uint64_t size() const { return size_; }

  void append(std::span<const std::byte> bytes);
  void append(std::string_view bytes);
  /// Makes the file visible; call it once. Throws FailedPreconditionError after an error or a
  /// commit.
  void commit();
  /// Makes two files of one folder visible, `first` before `second`, once all bytes of both are on
  /// the disk. A disk that fills up while either is written leaves both old files as they were, and
  /// nothing else happens between the two renames.
  static void commit_together(AtomicFile& first, AtomicFile& second);

 private:
  void write_out(std::span<const std::byte> bytes);
  void flush();
  void sync_to_disk();
  void rename();
  void check_usable() const;
  void discard() noexcept;

  enum class State { open, committed, failed };

  std::filesystem::path path_;
  std::filesystem::path temporary_;
  int descriptor_ = -1;
  std::vector<std::byte> buffer_;
  std::uint64_t size_ = 0;
  State state_ = State::open;
};

/// Returns `text` as bytes.
inline std::span<const std::byte> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

}  // namespace towerflow
