#pragma once

#include <algorithm>
#include <cstring>
#include <string>

#include "core/graph/dtype.h"

namespace towerflow {

/// Copies `count` elements, unless both addresses are the same.
inline void copy_elements(DType dtype, std::int64_t count, const void* from, void* to) {
  if (from == to || count == 0) return;
  if (dtype == DType::string) {
    std::copy_n(static_cast<const std::string*>(from), count, static_cast<std::string*>(to));
  } else {
    std::memcpy(to, from, static_cast<std::size_t>(count) * dtype_size(dtype));
  }
}

}  // namespace towerflow
