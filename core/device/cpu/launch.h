#pragma once

#include <memory>
#include <utility>

#include "core/device/cpu/cpu_kernel.h"
#include "core/device/kernel.h"

namespace towerflow {

/// Properties of a function that becomes a kernel; see PreparedKernel.
struct FunctionTraits {
  bool may_fail = true;
  std::size_t workspace_bytes = 0;
  std::vector<InPlacePair> in_place{};
};

/// A kernel made from a function of LaunchArgs, which runs at once on the queue's thread. For work
/// that is too small to slice, and for ops that wait, have state, or find their shapes at run time.
template <class F>
class FunctionKernel final : public PreparedKernel {
 public:
  FunctionKernel(F function, FunctionTraits traits)
      : function_(std::move(function)), traits_(std::move(traits)) {}
  std::size_t workspace_bytes() const override { return traits_.workspace_bytes; }
  std::vector<InPlacePair> in_place() const override { return traits_.in_place; }
  bool may_fail() const override { return traits_.may_fail; }
  void enqueue(Queue&, const LaunchArgs& args) const override { function_(args); }

 private:
  F function_;
  FunctionTraits traits_;
};

template <class F>
std::unique_ptr<PreparedKernel> function_kernel(F function, FunctionTraits traits = {}) {
  return std::make_unique<FunctionKernel<F>>(std::move(function), std::move(traits));
}

/// Wraps a sliced CPU kernel for the runtime; it runs on the thread pool of its queue.
std::unique_ptr<PreparedKernel> sliced_kernel(std::unique_ptr<CpuKernel> kernel,
                                              std::vector<InPlacePair> in_place = {});

}  // namespace towerflow
