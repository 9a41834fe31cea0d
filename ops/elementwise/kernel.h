#pragma once

#include "core/device/kernel.h"

namespace towerflow {

/// Makes the CPU kernel of `_Elementwise`.
std::unique_ptr<PreparedKernel> elementwise_program_kernel(const KernelRequest& request);

}  // namespace towerflow
