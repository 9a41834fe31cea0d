#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "core/device/cpu/launch.h"
#include "ops/range_kernel.h"

namespace towerflow::nn {

/// Passes only the inputs in `picked`, in that order, to a kernel.
class PickedInputs final : public KernelDecorator {
 public:
  PickedInputs(std::unique_ptr<CpuKernel> kernel, std::initializer_list<std::size_t> picked)
      : KernelDecorator(std::move(kernel)), picked_(picked) {}
  bool may_overwrite(int input, int output) const override {
    const auto at = std::find(picked_.begin(), picked_.end(), static_cast<std::size_t>(input));
    return at != picked_.end() &&
           KernelDecorator::may_overwrite(static_cast<int>(at - picked_.begin()), output);
  }
  void run(int phase, int slice, const void* const* inputs, void* const* outputs,
           std::byte* workspace) const override {
    const void* operands[kMaxInputs] = {};
    for (std::size_t i = 0; i < picked_.size(); ++i) operands[i] = inputs[picked_[i]];
    KernelDecorator::run(phase, slice, operands, outputs, workspace);
  }

 private:
  static constexpr std::size_t kMaxInputs = 4;
  std::vector<std::size_t> picked_;
};

template <class T>
const T* in(const void* const* inputs, std::size_t index) {
  return static_cast<const T*>(inputs[index]);
}
template <class T>
T* out(void* const* outputs, std::size_t index) {
  return static_cast<T*>(outputs[index]);
}

/// Adds a kernel for nodes whose input `typed` has one of `dtypes`.
inline void add_kernel(KernelTable& table, const char* op, const char* label, std::size_t typed,
                       std::initializer_list<DType> dtypes,
                       std::unique_ptr<PreparedKernel> (*prepare)(const KernelRequest&)) {
  table.add({.op = op,
             .label = label,
             .accepts =
                 [typed, allowed = std::vector<DType>(dtypes)](const KernelRequest& request) {
                   return std::find(allowed.begin(), allowed.end(), request.inputs[typed].dtype) !=
                          allowed.end();
                 },
             .prepare = prepare});
}

}  // namespace towerflow::nn
