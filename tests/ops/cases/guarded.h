#pragma once

#include <cstddef>
#include <memory>

#include "core/graph/array.h"
#include "core/runtime/device_set.h"

namespace towerflow::testing {

/// An operand of one launch, where a kernel that leaves it is seen.
///
/// On the host it ends at a page that nobody may touch, up to the alignment that kernels may rely
/// on, and begins behind another such page when it fills whole pages; on an accelerator it lies
/// between bytes of a known value. What lies before and behind is compared by `damage_text`.
class GuardedBuffer {
 public:
  /// Holds what `value` holds, in the memory of `device`. Strings lie where they are.
  GuardedBuffer(const Array& value, const Device& device);
  ~GuardedBuffer();
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;

  void* address() const { return address_; }
  /// What it holds now.
  Array value() const;
  /// "2 bytes behind it", or nothing.
  std::string damage_text() const;

 private:
  void allocate_on_host();
  void allocate_on_device();
  /// Copies the whole block between the device and `block_`, which is the host's.
  void transfer(bool to_device) const;

  Array value_;
  const Device& device_;
  std::size_t bytes_ = 0;
  std::byte* address_ = nullptr;        // of the operand, as the kernel has it
  std::byte* block_ = nullptr;          // the bytes around it, as the host sees them
  std::size_t before_ = 0, after_ = 0;  // bytes of the block before and behind the operand
  std::shared_ptr<void> memory_;        // of an accelerator
  std::shared_ptr<void> staging_;
  std::byte* pages_ = nullptr;  // of the host
  std::size_t mapped_ = 0;
};

}  // namespace towerflow::testing
