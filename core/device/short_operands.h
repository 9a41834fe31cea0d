#pragma once

#include "core/device/kernel.h"

namespace towerflow {

/// Returns whether some operands are float16 or bfloat16, and the op computes with such numbers.
bool computes_short_floats(const KernelRequest& request);

/// Returns the request with float32 in place of float16 and bfloat16.
KernelRequest widened(const KernelRequest& request);

}  // namespace towerflow
