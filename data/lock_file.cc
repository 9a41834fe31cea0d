#include "data/lock_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>

#include "data/file.h"

namespace towerflow {
namespace {

/// A file descriptor that is closed on destruction.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return number_; }
  int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

/// Returns 0 or the error number: EWOULDBLOCK if someone else holds the lock.
int lock(int descriptor, bool wait) noexcept {
  while (::flock(descriptor, LOCK_EX | (wait ? 0 : LOCK_NB)) != 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

/// Returns whether `path` still names the open file, which may have been removed and created again.
bool is_named(int descriptor, const std::filesystem::path& path) noexcept {
  struct stat open {
  }, named{};
  return ::fstat(descriptor, &open) == 0 && ::lstat(path.c_str(), &named) == 0 &&
         open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}

/// Opens an existing file in order to lock it; returns -1 and sets errno on failure.
int open_existing(const std::filesystem::path& path) noexcept {
  constexpr int kFlags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
  // A lock over NFS needs a file opened for writing; another user's file may be readable only.
  const int descriptor = ::open(path.c_str(), O_RDWR | kFlags);
  return descriptor < 0 && errno == EACCES ? ::open(path.c_str(), O_RDONLY | kFlags) : descriptor;
}

bool is_regular_file_descriptor(int descriptor) noexcept {
  struct stat status {};
  return ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
}

std::string content_of(int descriptor) {
  std::array<char, 256> bytes;
  const ssize_t count = ::pread(descriptor, bytes.data(), bytes.size(), 0);
  return {bytes.data(), count > 0 ? static_cast<std::size_t>(count) : 0};
}

}  // namespace

int create_locked(const std::filesystem::path& path) noexcept {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor < 0) return -1;
  if (lock(descriptor, true) != 0 || is_named(descriptor, path)) return descriptor;
  ::close(descriptor);  // another process took it for abandoned before it was locked
  errno = EEXIST;
  return -1;
}

LockFile LockFile::make(const std::filesystem::path& path, std::string_view content,
                        Others others) {
  check_path(path);
  // A process that replaces a killed process's file holds the lock for a moment only. The file
  // therefore counts as taken only if it is still the same file at the second look.
  ino_t seen = 0;
  for (int looks = 0;; ++looks) {
    if (Descriptor made(create_locked(path)); made.get() >= 0) {
      const bool locks = lock(made.get(), false) == 0;
      LockFile file(path, made.release(), locks ? State::held : State::unsupported,
                    std::string(content));
      if (locks && ::pwrite(file.descriptor_, content.data(), content.size(), 0) < 0)
        raise_file_error(errno, "write to", path);
      return file;
    }
    if (errno != EEXIST) raise_file_error(errno, "create", path);
    const Descriptor there(open_existing(path));
    if (there.get() < 0 && errno == ENOENT) continue;
    if (there.get() < 0) raise_file_error(errno, "open", path);
    if (!is_regular_file_descriptor(there.get()))
      throw errors::FailedPreconditionError(
          fmt::format("cannot lock {}: it is not a file", path.string()), {.hint = "remove it"});
    const int error = lock(there.get(), others == Others::wait);
    if (error == 0) {
      if (is_named(there.get(), path)) delete_file(path);
      continue;
    }
    if (error != EWOULDBLOCK) return {path, -1, State::unsupported, {}};
    struct stat status {};
    ::fstat(there.get(), &status);
    std::string holder = content_of(there.get());
    constexpr int kMaxAttempts = 100;  // for an owner that was stopped before it wrote the content
    if (std::exchange(seen, status.st_ino) == status.st_ino &&
        (!holder.empty() || looks > kMaxAttempts))
      return {path, -1, State::taken, std::move(holder)};
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

LockFile LockFile::adopt(const std::filesystem::path& path) {
  check_path(path);
  Descriptor there(open_existing(path));
  if (there.get() < 0 || !is_regular_file_descriptor(there.get()))
    return {path, -1, State::taken, {}};
  const int error = lock(there.get(), false);
  if (error != 0) return {path, -1, error == EWOULDBLOCK ? State::taken : State::unsupported, {}};
  if (!is_named(there.get(), path)) return {path, -1, State::taken, {}};
  std::string content = content_of(there.get());
  return {path, there.release(), State::held, std::move(content)};
}

LockFile::LockFile(LockFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      state_(other.state_),
      kept_(other.kept_),
      content_(std::move(other.content_)) {}

LockFile::~LockFile() {
  if (descriptor_ < 0) return;
  if (!kept_) ::unlink(path_.c_str());
  ::close(descriptor_);
}

}  // namespace towerflow
