#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "core/device/cpu/slicing.h"

namespace towerflow {

/// A computation prepared for concrete shapes, run on raw pointers.
///
/// It runs as `phases()` steps one after another; each phase consists of independent slices that
/// may run concurrently. The number of phases and slices depends only on shapes, so results are
/// bitwise equal whatever the number of threads and the order in which they take slices. Inputs are
/// dense and row-major (images NHWC, filters HWIO); an output may not overlap an input unless the
/// kernel allows it.
class CpuKernel {
 public:
  CpuKernel() = default;
  CpuKernel(const CpuKernel&) = delete;
  CpuKernel& operator=(const CpuKernel&) = delete;
  virtual ~CpuKernel() = default;

  /// Returns the bytes of scratch memory that `run` needs, aligned to 64 bytes. Its content is kept
  /// between phases, but undefined before the first and after the last.
  virtual std::size_t workspace_bytes() const { return 0; }
  virtual int phases() const { return 1; }
  /// Returns the number of slices of a phase, at least 1.
  virtual int slices(int phase) const {
    static_cast<void>(phase);
    return 1;
  }
  /// Returns whether `output` may be the same memory as `input`, which is then overwritten.
  virtual bool may_overwrite(int input, int output) const {
    static_cast<void>(input);
    static_cast<void>(output);
    return false;
  }
  /// Returns whether `run` may throw for an invalid value; see PreparedKernel.
  virtual bool may_fail() const { return true; }
  /// Runs one slice. May be called concurrently for different slices, and for different runs that
  /// have separate workspaces. Allocates nothing.
  virtual void run(int phase, int slice, const void* const* inputs, void* const* outputs,
                   std::byte* workspace) const = 0;
};

/// A kernel that forwards to an inner kernel. Subclasses override what differs, such as a step
/// before or after it.
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

/// Lays out the parts of a workspace: `add` returns the offset of a part aligned to 64 bytes.
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
