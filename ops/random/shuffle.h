#pragma once

#include <cstdint>
#include <span>

#include "ops/random/guarded.h"

namespace towerflow::random {

/// Throws InvalidArgumentError for a negative count of rows or one above 2^32 - 1, which is as far
/// as the 32-bit draws of RandomShuffle reach.
void check_rows(std::int64_t rows);

/// The order in which RandomShuffle puts rows, as many as `order` has elements: output row i is
/// input row `order[i]`. Reserves one word less than rows of `generator`; for 0 or 1 rows none.
/// Throws as `check_rows`.
void shuffle_order(GuardedPhilox& generator, std::span<std::uint32_t> order);

}  // namespace towerflow::random
