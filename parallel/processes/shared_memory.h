#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace towerflow::parallel::types {
class ProcessGroup;
}

namespace towerflow::parallel::processes {

/// Memory of this process that other processes of the host, of the same user, can read. It starts
/// with zeros. Nothing of it stays when the processes end, however they do.
class SharedMemory {
 public:
  /// Throws std::runtime_error if the system has no memory or no file descriptor left.
  explicit SharedMemory(std::size_t bytes);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  std::byte* data() { return data_; }

  /// Says where the memory is, to other processes.
  struct Address {
    std::int64_t process = 0;
    std::int64_t file = 0;
    std::uint64_t bytes = 0;
  };
  Address address() const;

 private:
  std::size_t bytes_;
  int file_ = -1;
  std::byte* data_ = nullptr;
};

/// The memory of another process, to read from. It stays readable when that process ends.
class MappedMemory {
 public:
  MappedMemory() = default;
  /// Throws std::runtime_error if the memory cannot be reached, as from another container.
  explicit MappedMemory(const SharedMemory::Address& address);
  MappedMemory(MappedMemory&& other) noexcept;
  MappedMemory& operator=(MappedMemory&& other) noexcept;
  ~MappedMemory();

  const std::byte* data() const { return data_; }

 private:
  std::size_t bytes_ = 0;
  const std::byte* data_ = nullptr;
};

/// Parts of the memory of several processes, which this one reads as if they were one piece.
class JoinedMemory {
 public:
  /// Memory is joined in pages of so many bytes.
  static std::size_t page_bytes();

  JoinedMemory() = default;
  /// Takes addresses, behind which there is no memory yet. Throws std::runtime_error if there are
  /// not enough.
  explicit JoinedMemory(std::size_t bytes);
  JoinedMemory(const JoinedMemory&) = delete;
  JoinedMemory& operator=(JoinedMemory&& other) noexcept;
  ~JoinedMemory();

  /// Puts `bytes` of a process's memory, from `offset` on, at `at`; both offsets are those of
  /// pages. Throws std::runtime_error if the memory cannot be reached.
  void join(std::size_t at, const SharedMemory::Address& address, std::size_t offset,
            std::size_t bytes);

  const std::byte* data() const { return data_; }

 private:
  std::size_t bytes_ = 0;
  std::byte* data_ = nullptr;
};

/// Finds out whether the processes of a group can read each other's memory: if all are on this
/// host, none in a container of its own. All processes must call it, and get the same answer.
/// `hosts` has the name of the host of each rank.
bool can_share_memory(types::ProcessGroup& group, const std::vector<std::string>& hosts);

}  // namespace towerflow::parallel::processes
