#include "parallel/processes/shared_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <random>
#include <stdexcept>
#include <utility>

#include "parallel/processes/group.h"

namespace towerflow::parallel::processes {
namespace {

std::runtime_error cannot(const char* what, int error) {
  return std::runtime_error(fmt::format("cannot {}: {}", what, std::strerror(error)));
}

/// A file descriptor that is closed at the end of its scope.
struct OpenFile {
  explicit OpenFile(int number) : file(number) {}
  ~OpenFile() {
    if (file >= 0) close(file);
  }
  OpenFile(OpenFile&& other) noexcept : file(std::exchange(other.file, -1)) {}
  OpenFile& operator=(const OpenFile&) = delete;
  int file;
};

std::byte* map(int file, std::size_t bytes, int protection) {
  void* data = mmap(nullptr, bytes, protection, MAP_SHARED, file, 0);
  if (data == MAP_FAILED) throw cannot("map the memory that processes share", errno);
  return static_cast<std::byte*>(data);
}

/// Opens the memory of another process, and checks its size.
OpenFile open_memory(const SharedMemory::Address& address) {
  const std::string path = fmt::format("/proc/{}/fd/{}", address.process, address.file);
  OpenFile opened(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (opened.file < 0) throw cannot("open the memory of another process", errno);
  struct stat status {};
  // Reading behind the end of a file would end this process.
  if (fstat(opened.file, &status) != 0 || !S_ISREG(status.st_mode) ||
      static_cast<std::uint64_t>(status.st_size) != address.bytes || address.bytes == 0) {
    throw std::runtime_error("the memory of another process is not what it says");
  }
  return opened;
}

/// A trivially copyable value as bytes, and back.
template <class T>
std::string bytes_of(const T& value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof(T));
}
template <class T>
T value_of(const std::string& bytes) {
  T value{};
  if (bytes.size() == sizeof(T)) std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

/// What a process says of memory that the others try to read.
struct Trial {
  SharedMemory::Address address;
  std::uint64_t content = 0;
};

bool can_read(const Trial& trial) {
  try {
    const MappedMemory memory(trial.address);
    return std::memcmp(memory.data(), &trial.content, sizeof(trial.content)) == 0;
  } catch (const std::runtime_error&) {
    return false;
  }
}

}  // namespace

SharedMemory::SharedMemory(std::size_t bytes) : bytes_(std::max<std::size_t>(bytes, 1)) {
  OpenFile opened(memfd_create("towerflow", MFD_CLOEXEC));
  if (opened.file < 0) throw cannot("make memory that processes share", errno);
  if (ftruncate(opened.file, static_cast<off_t>(bytes_)) != 0) {
    throw cannot("make memory that processes share", errno);
  }
  data_ = map(opened.file, bytes_, PROT_READ | PROT_WRITE);
  file_ = std::exchange(opened.file, -1);
}

SharedMemory::~SharedMemory() {
  munmap(data_, bytes_);
  close(file_);
}

SharedMemory::Address SharedMemory::address() const { return {getpid(), file_, bytes_}; }

MappedMemory::MappedMemory(const SharedMemory::Address& address) : bytes_(address.bytes) {
  const OpenFile opened = open_memory(address);
  data_ = map(opened.file, bytes_, PROT_READ);
}

MappedMemory::MappedMemory(MappedMemory&& other) noexcept
    : bytes_(std::exchange(other.bytes_, 0)), data_(std::exchange(other.data_, nullptr)) {}

MappedMemory& MappedMemory::operator=(MappedMemory&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  std::swap(data_, other.data_);
  return *this;
}

MappedMemory::~MappedMemory() {
  if (data_ != nullptr) munmap(const_cast<std::byte*>(data_), bytes_);
}

std::size_t JoinedMemory::page_bytes() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

JoinedMemory::JoinedMemory(std::size_t bytes) : bytes_(std::max<std::size_t>(bytes, 1)) {
  void* data = mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) throw cannot("get addresses for memory that processes share", errno);
  data_ = static_cast<std::byte*>(data);
}

JoinedMemory& JoinedMemory::operator=(JoinedMemory&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  std::swap(data_, other.data_);
  return *this;
}

JoinedMemory::~JoinedMemory() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

void JoinedMemory::join(std::size_t at, const SharedMemory::Address& address, std::size_t offset,
                        std::size_t bytes) {
  if (bytes == 0) return;
  const OpenFile opened = open_memory(address);
  if (offset > address.bytes || bytes > address.bytes - offset || at > bytes_ ||
      bytes > bytes_ - at) {
    throw std::runtime_error("the memory of another process is too short");
  }
  void* data = mmap(data_ + at, bytes, PROT_READ, MAP_SHARED | MAP_FIXED, opened.file,
                    static_cast<off_t>(offset));
  if (data == MAP_FAILED) throw cannot("map the memory that processes share", errno);
}

bool can_share_memory(ProcessGroup& group, const std::vector<std::string>& hosts) {
  const bool one_host = std::all_of(hosts.begin(), hosts.end(),
                                    [&](const std::string& host) { return host == hosts[0]; });
  if (!one_host) return false;
  Trial own;
  std::unique_ptr<SharedMemory> memory;
  try {
    memory = std::make_unique<SharedMemory>(sizeof(own.content));
    std::random_device random;
    own = {memory->address(), (std::uint64_t{random()} << 32) | random()};
    std::memcpy(memory->data(), &own.content, sizeof(own.content));
  } catch (const std::exception&) {
    own = {};  // the others cannot read it
  }
  const auto trials = group.all_gather(bytes_of(own), "a trial of shared memory");
  const bool reads_all = std::all_of(trials.begin(), trials.end(), [](const std::string& bytes) {
    return can_read(value_of<Trial>(bytes));
  });
  const auto answers = group.all_gather(reads_all ? "yes" : "no", "a trial of shared memory");
  return std::count(answers.begin(), answers.end(), "yes") == group.size();
}

}  // namespace towerflow::parallel::processes
