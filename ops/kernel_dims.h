#pragma once

#include <cstdint>

#include "core/device/kernel.h"
#include "core/graph/error.h"

namespace towerflow {

/// The largest rank that kernels take: they keep sizes and strides on the stack.
inline constexpr std::size_t kMaxKernelRank = 32;

/// Throws UnimplementedError if an operand has more dimensions than kernels take, or if the shape
/// of an output is still not fully known.
void check_kernel_rank(const KernelRequest& request);

/// Returns element `index` of an int32 or int64 operand.
inline std::int64_t integer_at(DType dtype, const void* data, std::int64_t index) {
  return dtype == DType::int32 ? static_cast<const std::int32_t*>(data)[index]
                               : static_cast<const std::int64_t*>(data)[index];
}

/// Returns an axis read at run time, made non-negative. Throws InvalidArgumentError if it is out of
/// range.
std::size_t checked_axis(std::int64_t axis, std::size_t rank);

/// Returns the elements of an int32 or int64 Array.
std::vector<std::int64_t> integers_of(const Array& array);

/// Calls `f.template operator()<T>()` with a type suited to copying elements of `dtype`: an
/// unsigned integer of the same size, or std::string.
template <class F>
void dispatch_copyable(DType dtype, F&& f) {
  if (dtype == DType::string) return f.template operator()<std::string>();
  switch (dtype_size(dtype)) {
    case 1:
      return f.template operator()<std::uint8_t>();
    case 2:
      return f.template operator()<std::uint16_t>();
    case 4:
      return f.template operator()<std::uint32_t>();
    default:
      return f.template operator()<std::uint64_t>();
  }
}

}  // namespace towerflow
