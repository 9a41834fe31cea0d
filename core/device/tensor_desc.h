#pragma once

#include <cstdint>

#include "core/graph/dtype.h"
#include "core/graph/shape.h"

namespace towerflow {

/// Identifies a memory; all CPU devices share `kHostSpace`.
using MemorySpace = std::uint32_t;
inline constexpr MemorySpace kHostSpace = 0;

/// The properties of an operand that are known before a kernel runs: dtype, shape and memory.
/// Elements are row-major.
struct TensorDesc {
  DType dtype = DType::invalid;
  Shape shape = Shape::unknown();
  MemorySpace space = kHostSpace;

  /// Returns the size in bytes of a tensor of fully known shape and fixed-size elements.
  std::size_t bytes() const { return shape.bytes(dtype_size(dtype)); }
  bool operator==(const TensorDesc&) const = default;
};

}  // namespace towerflow
