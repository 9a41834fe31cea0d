#include "cuda/host/number.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

namespace towerflow::cuda::host {
namespace {

struct Bool {
  std::uint8_t value;
};

/// Calls `f` with a value of the type that stores the number.
template <typename F>
decltype(auto) visit(Number number, const F& f) {
  switch (number) {
    case Number::f16:
      return f(__half{});
    case Number::bf16:
      return f(__nv_bfloat16{});
    case Number::f32:
      return f(float{});
    case Number::f64:
      return f(double{});
    case Number::i8:
      return f(std::int8_t{});
    case Number::u8:
      return f(std::uint8_t{});
    case Number::i32:
      return f(std::int32_t{});
    case Number::i64:
      return f(std::int64_t{});
    case Number::boolean:
      return f(Bool{});
  }
  return f(double{});
}

template <typename T>
double to_double(T value) {
  if constexpr (std::is_same_v<T, __half>) {
    return static_cast<double>(__half2float(value));
  } else if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    return static_cast<double>(__bfloat162float(value));
  } else if constexpr (std::is_same_v<T, Bool>) {
    return value.value != 0 ? 1 : 0;
  } else {
    return static_cast<double>(value);
  }
}

template <typename T>
T from_double(double value) {
  if constexpr (std::is_same_v<T, __half>) {
    return __double2half(value);
  } else if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    return __double2bfloat16(value);
  } else if constexpr (std::is_same_v<T, Bool>) {
    return Bool{static_cast<std::uint8_t>(value != 0)};
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(value);
  } else {
    if (std::isnan(value)) return T{0};
    const double rounded = std::nearbyint(value);
    // The largest 64-bit integer is not a double: the comparison is with the next power of two.
    if (rounded >= static_cast<double>(std::numeric_limits<T>::max())) {
      return std::numeric_limits<T>::max();
    }
    if (rounded <= static_cast<double>(std::numeric_limits<T>::min())) {
      return std::numeric_limits<T>::min();
    }
    return static_cast<T>(rounded);
  }
}

}  // namespace

std::size_t size_of(Number number) {
  return visit(number, [](auto type) { return sizeof(type); });
}

// Elements are copied through memcpy, since an address may be misaligned until it was checked.
void load(Number number, const std::byte* from, std::int64_t stride, std::int64_t count,
          double* to) {
  visit(number, [&](auto type) {
    using T = decltype(type);
    const std::int64_t step = stride * static_cast<std::int64_t>(sizeof(T));
    for (std::int64_t i = 0; i < count; ++i) {
      T value;
      std::memcpy(&value, from + i * step, sizeof(T));
      to[i] = to_double(value);
    }
  });
}

void store(Number number, std::byte* to, std::int64_t stride, std::int64_t count,
           const double* from) {
  visit(number, [&](auto type) {
    using T = decltype(type);
    const std::int64_t step = stride * static_cast<std::int64_t>(sizeof(T));
    for (std::int64_t i = 0; i < count; ++i) {
      const T value = from_double<T>(from[i]);
      std::memcpy(to + i * step, &value, sizeof(T));
    }
  });
}

void round_as(Number number, std::int64_t count, double* values) {
  visit(number, [&](auto type) {
    using T = decltype(type);
    for (std::int64_t i = 0; i < count; ++i) values[i] = to_double(from_double<T>(values[i]));
  });
}

double round_to_tf32(double value) {
  const float single = static_cast<float>(value);
  if (!std::isfinite(single)) return static_cast<double>(single);
  // A float has 23 bits of mantissa, so 13 are dropped; ties go away from zero.
  const std::uint32_t bits = (std::bit_cast<std::uint32_t>(single) + 0x1000U) & ~0x1FFFU;
  return static_cast<double>(std::bit_cast<float>(bits));
}

}  // namespace towerflow::cuda::host
