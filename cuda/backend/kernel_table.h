#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/device/kernel.h"
#include "cuda/backend/device.h"

namespace towerflow::cuda {

/// How an op runs on GPUs. The inputs that its definition calls static, and `known_inputs`, stay on
/// the host: `request.values` has them when the kernel is prepared.
struct CudaEntry {
  std::string op;
  std::string label;  ///< shown in plan reports: "cuda", "cuBLASLt", "cuDNN"
  /// Returns whether it supports these operands, whose shapes may be unknown; empty: always.
  std::function<bool(const KernelRequest&)> accepts;
  std::function<std::unique_ptr<PreparedKernel>(Device&, const KernelRequest&)> prepare;
  /// More inputs, as the begin of a slice, whose values must be known before the run; the host runs
  /// the op if they are not.
  std::vector<int> known_inputs{};
  /// Returns whether it works on this device for operands that it accepts; empty: always.
  std::function<bool(const Device&, const KernelRequest&)> works_on{};
};

/// The entries, in order of preference for each op.
using CudaEntries = std::vector<CudaEntry>;

/// Returns the entries of all families of cuda/ops.
const CudaEntries& cuda_kernels();

}  // namespace towerflow::cuda
