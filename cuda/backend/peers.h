#pragma once

#include <vector>

#include "cuda/backend/driver.h"

namespace towerflow::cuda {

/// Lets each of these cards access the memory of those of the others that it can, so that copies
/// between them need not go through the host.
void enable_peer_access(const Driver& driver, const std::vector<int>& cards);

}  // namespace towerflow::cuda
