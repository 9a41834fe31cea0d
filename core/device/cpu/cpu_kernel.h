#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "core/device/cpu/slicing.h"

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

/// A kernel that does what another one does, but for what a subclass overrides: the place for a
/// step before or behind it. Phases, slices and all else are the inner kernel's.
class KernelDecorator : public CpuKernel {
 public:
  explicit KernelDecorator(std::unique_ptr<CpuKernel> inner) : inner_(std::move(inner)) {}

  std::size_t workspace_bytes() const override { return inner_->workspace_bytes(); }
  int phases() const override { return inner_->phases(); }
  int slices(int phase) const override { return inner_->slices(phase); }
  bool may_overwrite(int input, int output) const override {
    return inner_->may_overwrite(input, output);
  }
  bool may_fail() const override { return inner_->may_fail(); }
  void run(int phase, int slice, const void* const* inputs, void* const* outputs,
           std::byte* workspace) const override {
    inner_->run(phase, slice, inputs, outputs, workspace);
  }

 private:
  std::unique_ptr<CpuKernel> inner_;
};

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
