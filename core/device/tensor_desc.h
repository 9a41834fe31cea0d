#pragma once

#include <cstdint>

#include "core/graph/dtype.h"
#include "core/graph/shape.h"

namespace towerflow {

/// Identifies memory that addresses of one kind reach; all CPU devices share `host`.
using MemorySpace = std::uint32_t;
inline constexpr MemorySpace kHostSpace = 0;

/// What a kernel knows of an operand before it runs: dtype, shape and memory. Elements are
/// row-major.
struct TensorDesc {
  DType dtype = DType::invalid;
  Shape shape = Shape::unknown();
  MemorySpace space = kHostSpace;

  /// Bytes of a plain tensor of fully known shape.
  std::size_t bytes() const { return shape.bytes(dtype_size(dtype)); }
  bool operator==(const TensorDesc&) const = default;
};

}  // namespace towerflow
