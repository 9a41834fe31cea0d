#pragma once

#include <memory>
#include <vector>

#include "core/device/backend.h"
#include "core/runtime/session.h"

namespace towerflow {

/// The backends that a session's options ask for: the CPU first, then accelerators. Throws
/// ValueError for options that do not fit.
std::vector<std::shared_ptr<Backend>> make_backends(const ConfigProto& config);

}  // namespace towerflow
