#pragma once

#include "core/runtime/session.h"

namespace towerflow::report {

/// How long the copy engines of one direction work.
struct CopyTime {
  double all = 0;  ///< seconds, added up over the engines
  double hidden =
      0;  ///< of these, seconds in which the accelerator itself runs kernels of the model

  /// Returns the hidden share, 0 to 1; 1 if nothing is copied.
  double hidden_share() const { return all > 0 ? hidden / all : 1; }
};

/// The copies of a step's accelerators. Gradients leave an accelerator, and new values of variables
/// and batches enter it.
struct CopyTimes {
  CopyTime out, in;

  CopyTime total() const { return {out.all + in.all, out.hidden + in.hidden}; }
};

/// Adds up the copies of a traced step; on the virtual clock if its devices are simulated.
CopyTimes copy_times(const RunMetadata& step);

}  // namespace towerflow::report
