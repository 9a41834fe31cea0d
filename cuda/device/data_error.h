#pragma once

#include <cstdint>

#include "cuda/device/pointers.h"

namespace towerflow::cuda::device {

/// What a kernel writes about its data that are wrong: labels that are no classes, indices that are
/// no rows. Of several wrong numbers it keeps the first, whichever thread comes first.
class DataError {
 public:
  std::int32_t found = 0;          ///< 1 if there is one
  std::int64_t notes[2] = {0, 0};  ///< for kernels that report other numbers than a wrong one
  TOWERFLOW_POINTERS()

  /// Notes that something is wrong, without a value.
  TOWERFLOW_BOTH void set() {
    TOWERFLOW_SHARED_BY_THREADS(std::int32_t)& shared = found;
    shared = 1;
  }
  /// Notes that the number at position `at` is wrong. Positions from 2^32 - 1 on count as that one.
  TOWERFLOW_BOTH void set(std::int64_t wrong, std::int64_t at) {
    const auto place = static_cast<std::uint64_t>(at < kLast ? at : kLast) << 32;
    const auto bits = static_cast<std::uint64_t>(wrong);
    lower(upper_half_, place | bits >> 32);
    lower(lower_half_, place | (bits & kLast));
    set();
  }

  /// The first number that is wrong, and its place among the numbers.
  std::int64_t value() const {
    return static_cast<std::int64_t>(upper_half_ << 32 | (lower_half_ & kLast));
  }
  std::int64_t position() const { return static_cast<std::int64_t>(upper_half_ >> 32); }

 private:
  static constexpr std::int64_t kLast = 0xFFFFFFFF;

  /// The memory is the host's, where atomics of a GPU are atomic for that GPU: it alone writes
  /// here.
  TOWERFLOW_BOTH static void lower(std::uint64_t& kept, std::uint64_t key) {
#if defined(__CUDA_ARCH__)
    static_assert(sizeof(std::uint64_t) == sizeof(unsigned long long));
    atomicMin(reinterpret_cast<unsigned long long*>(&kept), key);
#else
    TOWERFLOW_SHARED_BY_THREADS(std::uint64_t)& shared = kept;
    if (key < shared) shared = key;
#endif
  }

  // The upper 32 bits of each are the position, the lower ones half of the number: both minima
  // belong to the first wrong number.
  std::uint64_t upper_half_ = ~std::uint64_t{0}, lower_half_ = ~std::uint64_t{0};
};

}  // namespace towerflow::cuda::device
