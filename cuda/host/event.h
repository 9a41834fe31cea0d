#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "cuda/host/task.h"

namespace towerflow::cuda::host {

struct Capture;

struct Event {
  int device = 0;
  unsigned flags = 0;
  PointPtr point{};                    ///< where it was recorded last; nullptr if nowhere
  std::shared_ptr<Capture> capture{};  ///< set if it was recorded in a captured stream instead
  std::vector<std::size_t> needs{};    ///< the nodes before it then
};

}  // namespace towerflow::cuda::host
