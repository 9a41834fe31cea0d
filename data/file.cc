#include "data/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <exception>
#include <memory>
#include <mutex>
#include <set>
#include <system_error>

#include "data/lock_file.h"

namespace towerflow {
namespace {

// Linux transfers at most about 2 GiB per call; smaller pieces stay well below that.
constexpr std::size_t kLargestTransfer = 1U << 30;
// Bytes per write call: enough to keep the disk busy.
constexpr std::size_t kPieceBytes = 8U << 20;

std::filesystem::path folder_of(const std::filesystem::path& path) {
  const std::filesystem::path folder = path.parent_path();
  return folder.empty() ? std::filesystem::path(".") : folder;
}

// Hidden, so that a pattern such as *.tfrecords never matches a half-written file; shortened, so
// that a long but legal name does not become too long.
std::filesystem::path temporary_name(const std::filesystem::path& path) {
  static std::atomic<unsigned> counter{0};
  const std::string name = path.filename().string().substr(0, 200);
  return folder_of(path) / fmt::format(".{}.{}-{}.tmp", name, ::getpid(), counter++);
}

/// Returns whether `name` is such a name: ".NAME.PID-N.tmp".
bool is_temporary_name(std::string_view name) {
  constexpr std::string_view kEnd = ".tmp";
  const auto drop_digits = [&] {
    const std::size_t last = name.find_last_not_of("0123456789");
    const bool some = last + 1 < name.size();
    name = name.substr(0, last + 1);
    return some;
  };
  const auto drop = [&](std::string_view end) {
    if (!name.ends_with(end)) return false;
    name.remove_suffix(end.size());
    return true;
  };
  return name.starts_with('.') && drop(kEnd) && drop_digits() && drop("-") && drop_digits() &&
         drop(".");
}

/// Deletes the files that killed processes left in a folder, the first time that this process
/// writes to the folder.
void remove_abandoned_once(const std::filesystem::path& folder) {
  static std::mutex mutex;
  static std::set<std::filesystem::path> tidied;
  {
    std::error_code ignored;
    const std::lock_guard lock(mutex);
    if (!tidied.insert(std::filesystem::absolute(folder, ignored)).second) return;
  }
  remove_abandoned_files(folder);
}

void sync_folder(const std::filesystem::path& path) {
  const std::filesystem::path folder = folder_of(path);
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) raise_file_error(errno, "open folder", folder);
  const int result = ::fsync(descriptor);
  const int error_number = errno;
  ::close(descriptor);
  // Some network file systems cannot sync a folder; the rename has happened nevertheless.
  if (result != 0 && error_number != EINVAL && error_number != ENOTSUP)
    raise_file_error(error_number, "write through folder", folder);
}

}  // namespace

errors::Code code_of_errno(int error_number) noexcept {
  using errors::Code;
  switch (error_number) {
    case 0:
      return Code::ok;
    case EINVAL:
    case ENAMETOOLONG:
    case E2BIG:
    case EILSEQ:
    case ENOTTY:
    case ESPIPE:
      return Code::invalid_argument;
    case ETIMEDOUT:
      return Code::deadline_exceeded;
    case ENOENT:
    case ENODEV:
    case ENXIO:
    case ESRCH:
      return Code::not_found;
    case EEXIST:
      return Code::already_exists;
    case EPERM:
    case EACCES:
    case EROFS:
      return Code::permission_denied;
    case EISDIR:
    case ENOTDIR:
    case ENOTEMPTY:
    case EBADF:
    case EBUSY:
    case ETXTBSY:
    case ENOTBLK:
    case EPIPE:
      return Code::failed_precondition;
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case EMLINK:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM:
    case EFBIG:
    case EOVERFLOW:
    case ERANGE:
      return Code::resource_exhausted;
    case ENOSYS:
    case ENOTSUP:
    case EXDEV:
      return Code::unimplemented;
    case EAGAIN:
    case EINTR:
    case ENOLCK:
      return Code::unavailable;
    case EDEADLK:
    case ESTALE:
      return Code::aborted;
    case ECANCELED:
      return Code::cancelled;
    default:
      return Code::unknown;
  }
}

void raise_file_error(int error_number, std::string_view action, const std::filesystem::path& path,
                      std::string hint) {
  // Unlike strerror, the category's message is thread-safe.
  errors::raise(code_of_errno(error_number),
                fmt::format("cannot {} {}: {}", action, path.string(),
                            std::generic_category().message(error_number)),
                {.hint = std::move(hint)});
}

void check_path(const std::filesystem::path& path) {
  std::string text = path.string();
  if (text.find('\0') == std::string::npos) return;
  for (std::size_t at = 0; (at = text.find('\0', at)) != std::string::npos;)
    text.replace(at, 1, "\\0");
  throw ValueError(fmt::format("a path must not contain a zero byte: \"{}\"", text));
}

InputFile::InputFile(std::filesystem::path path) : path_(std::move(path)) {
  check_path(path_);
  descriptor_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ < 0) raise_file_error(errno, "open", path_);
  struct stat status {};
  int error_number = ::fstat(descriptor_, &status) == 0 ? 0 : errno;
  if (error_number == 0 && S_ISDIR(status.st_mode)) error_number = EISDIR;
  if (error_number != 0) {
    ::close(descriptor_);
    raise_file_error(error_number, "read", path_);
  }
  if (S_ISREG(status.st_mode)) size_ = static_cast<std::uint64_t>(status.st_size);
}

InputFile::~InputFile() { ::close(descriptor_); }

std::optional<std::uint64_t> InputFile::size_now() const {
  struct stat status {};
  if (!size_ || ::fstat(descriptor_, &status) != 0) return size_;
  return static_cast<std::uint64_t>(status.st_size);
}

std::size_t InputFile::read(std::span<std::byte> out) {
  std::size_t done = 0;
  while (done < out.size()) {
    const std::size_t wanted = std::min(out.size() - done, kLargestTransfer);
    const ssize_t count = ::read(descriptor_, out.data() + done, wanted);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) raise_file_error(errno, "read", path_);
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  position_ += done;
  return done;
}

std::size_t InputFile::read_at(std::uint64_t offset, std::span<std::byte> out) const {
  // An offset from a damaged file may not fit the system's signed type.
  if (offset > static_cast<std::uint64_t>(INT64_MAX) - out.size()) return 0;
  std::size_t done = 0;
  while (done < out.size()) {
    const std::size_t wanted = std::min(out.size() - done, kLargestTransfer);
    const ssize_t count =
        ::pread(descriptor_, out.data() + done, wanted, static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) raise_file_error(errno, "read", path_);
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  return done;
}

void InputFile::read_exactly_at(std::uint64_t offset, std::span<std::byte> out) const {
  const std::size_t count = read_at(offset, out);
  if (count != out.size())
    throw errors::DataLossError(fmt::format("{} ends early: expected {} bytes at byte {}, found {}",
                                            path_.string(), out.size(), offset, count));
}

std::string read_file(const std::filesystem::path& path, std::uint64_t limit) {
  InputFile file(path);
  std::string text;
  // The size is only a first guess: a pipe has none, and a file may grow while it is read.
  std::size_t chunk = static_cast<std::size_t>(std::min(file.size().value_or(0), limit)) + 1;
  while (true) {
    const std::size_t start = text.size();
    text.resize(start + chunk);
    const std::size_t count = file.read(std::as_writable_bytes(std::span(text).subspan(start)));
    text.resize(start + count);
    if (text.size() > limit)
      throw errors::ResourceExhaustedError(
          fmt::format("{} holds more than the {} bytes allowed here", path.string(), limit));
    if (count < chunk) return text;
    chunk = kFileBufferBytes;
  }
}

void check_regular_file(const std::filesystem::path& path) {
  check_path(path);
  std::error_code ignored;
  const std::filesystem::file_status status = std::filesystem::status(path, ignored);
  if (std::filesystem::is_directory(status)) raise_file_error(EISDIR, "read", path);
  if (!std::filesystem::exists(status) || std::filesystem::is_regular_file(status)) return;
  throw errors::FailedPreconditionError(
      fmt::format("cannot read {}: it is a pipe or a device, not a file", path.string()));
}

void make_folder(const std::filesystem::path& path) {
  check_path(path);
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) raise_file_error(error.value(), "create folder", path);
}

void delete_file(const std::filesystem::path& path) {
  check_path(path);
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) raise_file_error(errno, "remove", path);
}

std::vector<std::string> list_folder(const std::filesystem::path& folder) {
  struct CloseFolder {
    void operator()(DIR* open) const { ::closedir(open); }
  };
  check_path(folder);
  const std::unique_ptr<DIR, CloseFolder> open(::opendir(folder.c_str()));
  if (open == nullptr) raise_file_error(errno, "read folder", folder);
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = ::readdir(open.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
    errno = 0;
  }
  if (errno != 0) raise_file_error(errno, "read folder", folder);
  return names;
}

void remove_abandoned_files(const std::filesystem::path& folder) noexcept {
  try {
    for (const std::string& name : list_folder(folder)) {
      // A process locks the file that it writes. A file that can be locked here is therefore
      // abandoned, and the LockFile's destructor deletes it.
      if (is_temporary_name(name)) LockFile::adopt(folder / name);
    }
  } catch (const std::exception&) {
    // Abandoned files only take space.
  }
}

AtomicFile::AtomicFile(std::filesystem::path path) : path_(std::move(path)) {
  if (path_.filename().empty())
    throw errors::InvalidArgumentError(
        fmt::format("cannot write to \"{}\": it names no file", path_.string()));
  check_path(path_);
  remove_abandoned_once(folder_of(path_));
  buffer_.reserve(kFileBufferBytes);
  do {
    temporary_ = temporary_name(path_);
    descriptor_ = create_locked(temporary_);
    // A killed process with the same PID may have left this file: it is not ours to use.
  } while (descriptor_ < 0 && errno == EEXIST);
  if (descriptor_ < 0)
    raise_file_error(errno, "create", path_,
                     errno == ENOENT
                         ? fmt::format("create the folder {} first", folder_of(path_).string())
                         : std::string());
}

AtomicFile::~AtomicFile() { discard(); }

void AtomicFile::discard() noexcept {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
  if (state_ != State::committed) ::unlink(temporary_.c_str());
}

void AtomicFile::check_usable() const {
  if (state_ == State::open) return;
  throw errors::FailedPreconditionError(
      fmt::format("{} {}", path_.string(),
                  state_ == State::committed ? "is already committed"
                                             : "cannot be written after an earlier error"));
}

void AtomicFile::append(std::string_view bytes) { append(bytes_of(bytes)); }

void AtomicFile::append(std::span<const std::byte> bytes) {
  check_usable();
  if (buffer_.size() + bytes.size() > kFileBufferBytes) flush();
  if (bytes.size() >= kFileBufferBytes)
    write_out(bytes);
  else
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  size_ += bytes.size();
}

void AtomicFile::flush() {
  write_out(buffer_);
  buffer_.clear();
}

void AtomicFile::write_out(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor_, bytes.data(), std::min(bytes.size(), kPieceBytes));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      state_ = State::failed;
      raise_file_error(errno, "write to", path_);
    }
    // Starts writing to the disk while more is copied; `commit` checks that everything got there.
    if (static_cast<std::size_t>(count) > kFileBufferBytes) {
      ::sync_file_range(descriptor_, 0, 0, SYNC_FILE_RANGE_WRITE);
    }
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

void AtomicFile::sync_to_disk() {
  check_usable();
  flush();
  if (::fsync(descriptor_) == 0) return;
  state_ = State::failed;
  raise_file_error(errno, "write through", path_);
}

void AtomicFile::rename() {
  // Renames before `close`, which releases the lock. `fsync` has reported any error that `close`
  // could.
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    state_ = State::failed;
    raise_file_error(errno, "rename to", path_);
  }
  state_ = State::committed;
  ::close(descriptor_);
  descriptor_ = -1;
}

void AtomicFile::commit() {
  sync_to_disk();
  rename();
  sync_folder(path_);
}

void AtomicFile::commit_together(AtomicFile& first, AtomicFile& second) {
  first.sync_to_disk();
  second.sync_to_disk();
  first.rename();
  second.rename();
  sync_folder(second.path_);
}

}  // namespace towerflow
