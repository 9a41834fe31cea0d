#pragma once

#include <cstddef>
#include <set>
#include <string>

#include "core/graph/all_reduce.h"
#include "core/graph/types.h"

namespace towerflow::types {

/// Which passes run; each can be switched off to measure its effect. Results stay the same bit for
/// bit, except for the rewrites of layers and `choose_winograd` (within 1e-5), and for the order of
/// sums that some algorithms of `all_reduce` have with more than two towers.
struct PassOptions {
  bool drop_unread = true;
  bool fold_constants = true;
  bool share_subexpressions = true;
  /// Rewrites to skip, by kind ("layers", "updates", "elementwise" or a program's own) or by name.
  std::set<std::string> skipped_rewrites{};
  bool reuse_buffers = true;
  bool choose_winograd = true;  ///< Winograd kernels for convolutions; not a pass
  /// Results of elementwise chains that only the backward pass needs after a while are computed
  /// again then, instead of kept, if those of a plan have this many bytes or more; 0 for never.
  std::size_t recompute_from = std::size_t{128} << 20;
  /// The bodies of loops are split in two parts, which run side by side on two cores, if the plan
  /// has one queue and the parts depend on each other in one direction only.
  bool split_loops = true;
  AllReduceOptions all_reduce{};
};

}  // namespace towerflow::types
