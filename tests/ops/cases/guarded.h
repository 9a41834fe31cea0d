#pragma once

#include <cstddef>
#include <memory>

#include "core/graph/array.h"
#include "core/runtime/device_set.h"

namespace towerflow::testing {

/// An operand of one launch in memory that reveals accesses outside of it.
///
/// On the host it ends, up to the alignment that kernels may rely on, at an inaccessible page. If
/// it fills whole pages, it also begins after one. On an accelerator it is surrounded by bytes of a
/// known value. `damage_text` checks the bytes before and after it.
class GuardedBuffer {
 public:
  /// Copies `value` to the memory of `device`. Strings stay on the host.
  GuardedBuffer(const Array& value, const Device& device);
  ~GuardedBuffer();
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;

  void* address() const { return address_; }
  /// Returns the current contents.
  Array value() const;
  /// Returns a text such as "2 bytes behind it", or "" if the bytes around it are unchanged.
  std::string damage_text() const;

 private:
  void allocate_on_host();
  void allocate_on_device();
  /// Copies the whole block between the device and `block_`, which is in host memory.
  void transfer(bool to_device) const;

  Array value_;
  const Device& device_;
  std::size_t bytes_ = 0;
  std::byte* address_ = nullptr;        // of the operand, as passed to kernels
  std::byte* block_ = nullptr;          // the operand and the bytes around it, as seen by the host
  std::size_t before_ = 0, after_ = 0;  // bytes of the block before and after the operand
  std::shared_ptr<void> memory_;        // on an accelerator
  std::shared_ptr<void> staging_;
  std::size_t inner_ = 0;  // of memory between two guard pages, on the host
};

}  // namespace towerflow::testing
