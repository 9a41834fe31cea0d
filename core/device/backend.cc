#include "core/device/backend.h"

#include "core/device/pinned_memory.h"

namespace towerflow {

std::shared_ptr<void> Backend::allocate_staging(std::size_t bytes) {
  return allocate_pinned(bytes);
}

}  // namespace towerflow
