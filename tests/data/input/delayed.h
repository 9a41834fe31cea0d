#pragma once

#include "core/graph/operand.h"

namespace towerflow::testing {

/// Its int64 input, late by some microseconds that differ from run to run while delays are on.
Tensor delayed(const Tensor& input);
void delay_records(bool on);

}  // namespace towerflow::testing
