#pragma once

#include "core/graph/operand.h"

namespace towerflow::testing {

/// Returns its int64 input, after a random delay of some microseconds while delays are on.
Tensor delay_tensor(const Tensor& input);
void delay_records(bool on);

}  // namespace towerflow::testing
