#pragma once

#include "core/graph/types.h"

namespace towerflow::types {

/// Which passes run; each can be switched off to see what it is worth. Values stay equal bit for
/// bit, but for `fuse_convolutions` and `choose_winograd` (within 1e-5).
struct PassOptions {
  bool drop_unread = true;
  bool fold_constants = true;
  bool share_subexpressions = true;
  bool fuse_convolutions = true;
  bool fuse_updates = true;
  bool fuse_elementwise = true;
  bool reuse_buffers = true;
  bool choose_winograd = true;  ///< kernels that multiply convolutions at points; no pass
};

}  // namespace towerflow::types
