#include "data/append_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "data/file.h"

namespace towerflow {
namespace {

/// Writes all of `bytes`; returns 0 or the error number.
int write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
    if (count < 0 && errno != EINTR) return errno;
    if (count > 0) bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return 0;
}

}  // namespace

AppendFile::AppendFile(std::filesystem::path path) : path_(std::move(path)) {
  check_path(path_);
  descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor_ < 0) raise_file_error(errno, "create", path_);
}

AppendFile::~AppendFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void AppendFile::append(std::string_view piece) {
  if (buffer_.size() + piece.size() > kFileBufferBytes) flush();
  buffer_ += piece;
}

void AppendFile::flush() {
  if (const int error = write_all(descriptor_, buffer_)) {
    // Readers must not find half a piece. The error below says if the truncation fails too.
    const bool cut = ::ftruncate(descriptor_, static_cast<off_t>(flushed_)) == 0 &&
                     ::lseek(descriptor_, static_cast<off_t>(flushed_), SEEK_SET) >= 0;
    raise_file_error(error, "write to", path_,
                     cut ? "what was written before can be read" : "its end may be damaged");
  }
  flushed_ += buffer_.size();
  buffer_.clear();
}

void AppendFile::close() {
  flush();
  const int synced = ::fsync(descriptor_) == 0 ? 0 : errno;
  const int closed = ::close(descriptor_) == 0 ? 0 : errno;
  descriptor_ = -1;
  // Pipes and terminals cannot be synced and need not be.
  if (synced != 0 && synced != EINVAL) raise_file_error(synced, "write through", path_);
  if (closed != 0 && closed != EINTR) raise_file_error(closed, "close", path_);
}

}  // namespace towerflow
