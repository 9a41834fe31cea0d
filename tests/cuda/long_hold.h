// Lets queues of GPUs hold work back until the records that it waits for are there, so that it is
// divided into graphs in the same way however busy the machine is.
#pragma once

#include <chrono>

#include "cuda/backend/graph_limits.h"

namespace towerflow::testing {

class LongHold {
 public:
  LongHold() : before_(cuda::longest_hold()) { cuda::longest_hold() = std::chrono::hours(1); }
  ~LongHold() { cuda::longest_hold() = before_; }
  LongHold(const LongHold&) = delete;
  LongHold& operator=(const LongHold&) = delete;

 private:
  std::chrono::microseconds before_;
};

}  // namespace towerflow::testing
