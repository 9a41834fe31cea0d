#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace towerflow {

/// A computation prepared for concrete shapes, run on raw pointers.
///
/// It runs as `phases()` steps one after another; a phase consists of slices that are independent
/// of each other and may run at the same time. The number of phases and slices depends on shapes
/// alone, so the bits of a result do not depend on how many threads there are, nor on the order in
/// which they take the slices. Inputs are dense and row-major (images NHWC, filters HWIO); an
/// output may not overlap an input unless the kernel says so.
class CpuKernel {
 public:
  CpuKernel() = default;
  CpuKernel(const CpuKernel&) = delete;
  CpuKernel& operator=(const CpuKernel&) = delete;
  virtual ~CpuKernel() = default;

  /// Scratch memory in bytes that `run` wants, aligned to 64 bytes; its content carries from one
  /// phase to the next and is of no meaning before the first and after the last.
  virtual std::size_t workspace_bytes() const { return 0; }
  virtual int phases() const { return 1; }
  /// At least 1.
  virtual int slices(int phase) const {
    static_cast<void>(phase);
    return 1;
  }
  /// Whether `output` may be the same memory as `input`, which it then overwrites.
  virtual bool may_overwrite(int input, int output) const {
    static_cast<void>(input);
    static_cast<void>(output);
    return false;
  }
  /// Whether `run` may throw, for a value that it refuses; see PreparedKernel.
  virtual bool may_fail() const { return true; }
  /// Runs one slice. Callable from several threads at once for different slices, and for different
  /// runs that have a workspace of their own. Allocates nothing of its own.
  virtual void run(int phase, int slice, const void* const* inputs, void* const* outputs,
                   std::byte* workspace) const = 0;
};

/// Half-open range of elements.
struct SliceRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t size() const { return end - begin; }
};

/// Part `slice` of `total` elements cut into `slices` nearly equal parts whose borders are
/// multiples of `unit`; parts at the end may be empty.
inline SliceRange slice_range(std::int64_t total, int slices, int slice, std::int64_t unit = 1) {
  const std::int64_t units = (total + unit - 1) / unit;
  const std::int64_t base = units / slices;
  const std::int64_t extra = units % slices;
  const std::int64_t first = slice * base + std::min<std::int64_t>(slice, extra);
  const std::int64_t count = base + (slice < extra ? 1 : 0);
  return {std::min(first * unit, total), std::min((first + count) * unit, total)};
}

/// Collects the parts of a workspace: each `add` gives the offset of a part aligned to 64 bytes.
class WorkspaceLayout {
 public:
  std::size_t add(std::size_t bytes) {
    const std::size_t offset = bytes_;
    bytes_ += (bytes + 63) / 64 * 64;
    return offset;
  }
  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_ = 0;
};

}  // namespace towerflow
