#pragma once

#include <cstddef>
#include <exception>
#include <functional>

#include "cuda/device/data_error.h"

namespace towerflow::cuda {

/// Gives the error for wrong data that a kernel has found.
using MakeError = std::function<std::exception_ptr(const device::DataError&)>;

/// A launch that may report wrong data in a record.
struct CheckedLaunch {
  std::size_t instruction = 0;
  const MakeError* make_error = nullptr;
  std::size_t waited = 0;  ///< for how many checks of other queues its queue has waited before
};

}  // namespace towerflow::cuda
