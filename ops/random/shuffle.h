#pragma once

#include <cstdint>
#include <span>

#include "ops/random/guarded.h"

namespace towerflow::random {

/// Throws InvalidArgumentError if the number of rows is negative or above 2^32 - 1, the limit of
/// the 32-bit draws of RandomShuffle.
void check_rows(std::int64_t rows);

/// Computes RandomShuffle's order of as many rows as `order` has elements: output row i is input
/// row `order[i]`. Reserves one word less than there are rows from `generator`, none for 0 rows.
/// Throws like `check_rows`.
void shuffle_order(GuardedPhilox& generator, std::span<std::uint32_t> order);

}  // namespace towerflow::random
