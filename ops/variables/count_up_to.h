#pragma once

#include <cstdint>
#include <string>

#include "ops/variables/variable.h"

namespace towerflow {

struct CountUpToOptions {
  std::string name{};
};

/// Adds 1 to an integer variable, which must be below `limit`; returns the value before.
///
/// shapes   variable [] -> []     dtypes  int32, int64
/// grads    none: a count is an integer
/// errors   OutOfRangeError "Reached limit of 5" if the variable is not below it; no change then
/// source   tf.count_up_to
Tensor count_up_to(const Variable& variable, std::int64_t limit, CountUpToOptions options = {},
                   Site site = Site::current());

}  // namespace towerflow
