#pragma once

#include <cstdint>
#include <optional>

#include "core/graph/attr_fields.h"

namespace towerflow::random {

/// The attributes `seed` and `seed2` of a random op. {0, 0} means "not seeded".
struct Seeds {
  std::int64_t seed = 0;
  std::int64_t seed2 = 0;
  static constexpr auto fields =
      std::tuple{attr::field("seed", &Seeds::seed), attr::field("seed2", &Seeds::seed2)};
  bool operator==(const Seeds&) const = default;
};

/// Returns the seeds of a random op, from the graph's seed and its own (TensorFlow's `get_seed`):
///
/// | graph | op   | result                                                      |
/// |-------|------|-------------------------------------------------------------|
/// | none  | none | {0, 0}: different numbers in every session                  |
/// | none  | s    | {87654321, s}                                               |
/// | g     | s    | {g, s}                                                      |
/// | g     | none | {g, next_op_seed}, and `next_op_seed` goes up by one        |
///
/// Seeds are reduced modulo 2^31 - 1 into [0, 2^31 - 2], including negative ones; a seeded op whose
/// pair would be (0, 0) gets (0, 2^31 - 1).
///
/// `next_op_seed` belongs to the graph: it starts at 0, counts only the ops that took it, and is
/// not reset when the graph's seed changes.
Seeds get_seed(std::optional<std::int64_t> graph_seed, std::optional<std::int64_t> op_seed,
               std::int64_t& next_op_seed) noexcept;

}  // namespace towerflow::random
