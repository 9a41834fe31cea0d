#include "ops/random/shuffle.h"

#include <fmt/format.h>

#include <limits>
#include <numeric>
#include <utility>

#include "core/graph/error.h"

namespace towerflow::random {

void check_rows(std::int64_t rows) {
  if (rows < 0 || rows > std::numeric_limits<std::uint32_t>::max())
    throw errors::InvalidArgumentError(
        fmt::format("random_shuffle takes 0 to 2^32 - 1 rows, got {}", rows));
}

void shuffle_order(GuardedPhilox& generator, std::span<std::uint32_t> order) {
  const auto rows = static_cast<std::int64_t>(order.size());
  check_rows(rows);
  std::iota(order.begin(), order.end(), 0U);
  if (rows <= 1) return;
  const auto size = static_cast<std::uint32_t>(rows);
  PhiloxWords words(generator.reserve_words(rows - 1));
  for (std::uint32_t i = 0; i + 1 < size; ++i) std::swap(order[i], order[i + words() % (size - i)]);
}

}  // namespace towerflow::random
