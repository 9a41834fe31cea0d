#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "core/graph/plan_loop.h"

namespace towerflow {

/// The body of a loop in two parts. An iteration of the second needs what the first computed in the
/// same iteration, but the first needs nothing of the second, so that two threads can run them side
/// by side, the second a little behind. The layers of a recurrent network are such parts.
struct LoopStages {
  /// Fetches the next values of its loop variables, then what crosses.
  PlanGraph first;
  /// Its feeds are those of the loop, then what crosses.
  PlanGraph second;
  std::vector<bool> in_second;  ///< for each loop variable: whether the second part computes it
  /// For each loop variable, its next value: a fetch of its part; -1 if it never changes.
  std::vector<int> next;
  std::vector<std::size_t> crossing;  ///< fetches of the first part, in the order of the feeds
  std::vector<std::size_t> passed;    ///< loop variables of the first part that the second reads
};

/// Splits the body of a loop for feeds of these shapes where both parts have about the same to do.
/// Returns nothing if it cannot be split, or is too short for that to pay.
///
/// Only loops whose values keep their shapes are split, and only if they have no branches and no
/// loops inside, touch no files and write no variables. A stack is used by one part only.
std::optional<LoopStages> split_body(const PlanLoop& loop, std::span<const Shape> feeds);

}  // namespace towerflow
