#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <variant>

#include "ops/math/broadcast_loop.h"

namespace towerflow {

using SelectLoop = void (*)(const void* condition, const void* x, const void* y, void* out,
                            std::int64_t n);

/// The loop that a step runs over a piece.
using StepLoop = std::variant<UnaryLoop, BinaryLoops, SelectLoop>;

/// Returns the loop of an op on operands of these dtypes; its results are bit-identical to the op's
/// own CPU kernel. Returns nothing for an op or dtype that programs do not support. Integers are
/// only supported as input and output of a Cast, since their arithmetic may fail midway.
std::optional<StepLoop> step_loop(std::string_view op, std::span<const DType> operands,
                                  DType result);

}  // namespace towerflow
