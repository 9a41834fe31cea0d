#pragma once

#include <vector>

#include "core/graph/shape.h"

namespace towerflow::testing {

/// Returns, for each element of `out`, the index of the element of `in` that is broadcast to it.
inline std::vector<std::size_t> broadcast_places(const Shape& in, const Shape& out) {
  std::vector<std::int64_t> sizes(out.rank()), strides(out.rank(), 0);  // last dimension first
  std::int64_t stride = 1;
  for (std::size_t back = 0; back < out.rank(); ++back) {
    sizes[back] = out.size(out.rank() - 1 - back);
    if (back >= in.rank()) continue;
    const std::int64_t size = in.size(in.rank() - 1 - back);
    if (size != 1) strides[back] = stride;
    stride *= size;
  }
  std::vector<std::size_t> places;
  const std::int64_t elements = out.elements();
  for (std::int64_t flat = 0; flat < elements; ++flat) {
    std::int64_t rest = flat;
    std::int64_t place = 0;
    for (std::size_t back = 0; back < sizes.size(); ++back) {
      place += rest % sizes[back] * strides[back];
      rest /= sizes[back];
    }
    places.push_back(static_cast<std::size_t>(place));
  }
  return places;
}

}  // namespace towerflow::testing
