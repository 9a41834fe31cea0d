#pragma once

#include "core/device/kernel.h"

namespace towerflow {

/// Returns an entry that runs the kernels of `entry`, which accepts float32 operands, for float16
/// and bfloat16: it converts what they read before a launch, and what they have written after it. A
/// result is that of the float32 kernel, rounded once. Thread-safe.
const KernelEntry& widened_entry(const KernelEntry& entry);

}  // namespace towerflow
