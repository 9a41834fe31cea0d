#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <type_traits>

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

/// Copies `count` elements to other memory. Rows of 16 to 64 bytes, of which an op may copy many,
/// are copied without a call.
template <class T>
void copy_short_row(const T* from, std::int64_t count, T* to) {
  if constexpr (std::is_trivially_copyable_v<T>) {
    const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(T);
    if (bytes >= 16 && bytes <= 64) {
      const auto* source = reinterpret_cast<const std::byte*>(from);
      auto* target = reinterpret_cast<std::byte*>(to);
      for (std::size_t at = 0; at + 16 <= bytes; at += 16)
        std::memcpy(target + at, source + at, 16);
      std::memcpy(target + bytes - 16, source + bytes - 16, 16);
      return;
    }
  }
  std::copy_n(from, count, to);
}

}  // namespace towerflow
