#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace towerflow::cuda::host {

/// A thread of a block that accesses shared memory.
struct SharedAccess {
  unsigned thread = 0;      // of the block
  unsigned warp_epoch = 0;  // how often its warp has met
};

/// The shared memory of a block, and who accessed each byte since the threads last met.
///
/// Two accesses of a byte by different threads, of which one writes, are a race unless a barrier of
/// the block or a meeting of their warp lies between them.
class SharedMemory {
 public:
  SharedMemory(std::size_t static_bytes, std::size_t dynamic_bytes);

  /// Fills all with bytes that make NaN and -1, and forgets the variables of the last block.
  void begin_block();
  /// All threads of the block have met.
  void meet() { ++epoch_; }

  /// Returns the variable that `site` declares, the same for all threads of a block; nullptr if the
  /// kernel did not say that it has so much static shared memory.
  void* variable(const void* site, std::size_t bytes, std::size_t alignment);
  void* dynamic() { return bytes_.get() + dynamic_at_; }

  bool owns(const void* address) const { return offset(address) < size_; }
  /// Records an access. Returns what is wrong with it, or nullptr.
  const char* access(const void* address, std::size_t bytes, bool write, SharedAccess who);

 private:
  struct Variable {
    const void* site = nullptr;
    std::size_t begin = 0, bytes = 0;
  };
  /// The last access of a byte; of the reads of an epoch, who has to be waited for.
  struct Mark {
    std::uint32_t epoch = 0;
    std::uint32_t warp_epoch = 0;
    std::uint16_t thread = 0;
    bool many_threads = false, many_warps = false;
  };
  struct Byte {
    Mark read, write;
  };
  struct Release {
    void operator()(std::byte* bytes) const;
  };

  std::size_t offset(const void* address) const {
    return static_cast<std::size_t>(static_cast<const std::byte*>(address) - bytes_.get());
  }
  bool in_one_variable(std::size_t at, std::size_t bytes) const;
  bool follows(const Mark& mark, SharedAccess who) const;
  void note_read(Mark& mark, SharedAccess who) const;

  std::size_t static_bytes_, dynamic_at_, size_;
  std::unique_ptr<std::byte, Release> bytes_;
  std::vector<Byte> shadow_;
  std::vector<Variable> variables_;
  std::size_t used_ = 0, next_ = 0;
  std::uint32_t epoch_ = 0, block_epoch_ = 0;
};

}  // namespace towerflow::cuda::host
