#pragma once

#include <set>
#include <string>

#include "core/graph/types.h"

namespace towerflow::types {

/// Which passes run; each can be switched off to see what it is worth. Values stay equal bit for
/// bit, but for the rewrites of layers and `choose_winograd` (within 1e-5).
struct PassOptions {
  bool drop_unread = true;
  bool fold_constants = true;
  bool share_subexpressions = true;
  /// Rewrites that are left out, by the kind ("layers", "updates", "elementwise" or a program's
  /// own) or the name of their rules.
  std::set<std::string> skipped_rewrites{};
  bool reuse_buffers = true;
  bool choose_winograd = true;  ///< kernels that multiply convolutions at points; no pass
};

}  // namespace towerflow::types
