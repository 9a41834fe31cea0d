#pragma once

#include "core/device/kernel.h"
#include "ops/random/guarded.h"
#include "ops/random/seed.h"

namespace towerflow::random {

/// Returns the stream of random op `node` in the session of the run, started from `seeds` on first
/// use. It lives as long as the session, so that each run continues where the last one ended.
GuardedPhilox& generator_of(const LaunchArgs& args, const std::string& node, const Seeds& seeds);

}  // namespace towerflow::random
