#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <variant>

#include "ops/math/broadcast_loop.h"

namespace towerflow {

using SelectLoop = void (*)(const void* condition, const void* x, const void* y, void* out,
                            std::int64_t n);

/// What a step runs over a piece.
using StepLoop = std::variant<UnaryLoop, BinaryLoops, SelectLoop>;

/// The loop of an op on operands of these dtypes, with the bits of the op's own CPU kernel. Nothing
/// for an op or a dtype that programs do not take; integers only go into and out of a Cast, since
/// their arithmetic may fail in the middle.
std::optional<StepLoop> step_loop(std::string_view op, std::span<const DType> operands,
                                  DType result);

}  // namespace towerflow
