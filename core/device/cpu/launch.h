#pragma once

#include <memory>
#include <utility>

#include "core/device/cpu/cpu_kernel.h"
#include "core/device/kernel.h"

namespace towerflow {

/// A kernel made from a function of LaunchArgs; it runs at once on the queue's thread. For work
/// that is too small to slice, and for ops that wait, own state, or find their shapes late.
template <class F>
class FunctionKernel final : public PreparedKernel {
 public:
  explicit FunctionKernel(F function, std::vector<InPlacePair> in_place = {})
      : function_(std::move(function)), in_place_(std::move(in_place)) {}
  std::vector<InPlacePair> in_place() const override { return in_place_; }
  void enqueue(Queue&, const LaunchArgs& args) const override { function_(args); }

 private:
  F function_;
  std::vector<InPlacePair> in_place_;
};

template <class F>
std::unique_ptr<PreparedKernel> function_kernel(F function,
                                                std::vector<InPlacePair> in_place = {}) {
  return std::make_unique<FunctionKernel<F>>(std::move(function), std::move(in_place));
}

/// A sliced CPU kernel as the runtime launches it, on the pool of its queue.
std::unique_ptr<PreparedKernel> sliced_kernel(std::unique_ptr<CpuKernel> kernel,
                                              std::vector<InPlacePair> in_place = {});

}  // namespace towerflow
