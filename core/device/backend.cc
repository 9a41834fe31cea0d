#include "core/device/backend.h"

#include <fmt/format.h>

#include "core/device/pinned_memory.h"

namespace towerflow {

std::shared_ptr<void> Backend::allocate_staging(std::size_t bytes) {
  return allocate_pinned(bytes);
}

Collective Backend::collective(const std::vector<int>& devices) const {
  const int one = devices.empty() ? 0 : devices.front();
  return {{}, fmt::format("{}:{} is {}, and NCCL is for GPUs only", type(), one, kind())};
}

}  // namespace towerflow
