#pragma once

#include <cstddef>
#include <memory>
#include <vector>

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
  /// Allocates memory of `device` for `value`, which `upload` copies there. Strings stay on the
  /// host.
  GuardedBuffer(const Array& value, const Device& device);
  ~GuardedBuffer();
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;

  /// Copies the values of buffers to their memory, which is on one accelerator. Skips buffers on
  /// the host and null pointers.
  static void upload(const std::vector<GuardedBuffer*>& buffers);
  /// Copies the contents of buffers back in the same way, for `value` and `damage_text`.
  static void download(const std::vector<GuardedBuffer*>& buffers);

  void* address() const { return address_; }
  /// Returns the contents.
  Array value() const;
  /// Returns a text such as "2 bytes behind it", or "" if the bytes around it are unchanged.
  std::string damage_text() const;

 private:
  void allocate_on_host();
  void allocate_on_device();
  static void transfer(const std::vector<GuardedBuffer*>& buffers, bool to_device);

  Array value_;
  const Device& device_;
  std::size_t bytes_ = 0;
  std::byte* address_ = nullptr;        // of the operand, as passed to kernels
  std::byte* block_ = nullptr;          // the operand and the bytes around it, in host memory
  std::size_t before_ = 0, after_ = 0;  // bytes of the block before and after the operand
  std::shared_ptr<void> memory_;        // on an accelerator
  std::shared_ptr<void> staging_;
  std::size_t inner_ = 0;  // of memory between two guard pages, on the host
};

}  // namespace towerflow::testing
