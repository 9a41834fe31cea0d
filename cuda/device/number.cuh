#pragma once

// Numbers as kernels store and compute them, and loads and stores of 16 bytes.

#include <cstring>
#include <limits>

#include "cuda/device/kernel.cuh"

namespace towerflow::cuda::device {

using int64 = std::int64_t;

/// 16-bit numbers are stored, and computed as float.
struct Half {
  std::uint16_t bits;
};
struct BFloat16 {
  std::uint16_t bits;
};

template <class To, class From>
TOWERFLOW_DEVICE To bits_as(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  __builtin_memcpy(&to, &from, sizeof(To));
  return to;
}

TOWERFLOW_DEVICE float to_float(Half x) {
#if defined(__CUDACC__)
  float result;
  asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(x.bits));
  return result;
#else
  const std::uint32_t sign = (x.bits & 0x8000U) << 16, rest = x.bits & 0x7fffU;
  if (rest >= 0x7c00) return bits_as<float>(sign | 0x7f800000U | (rest & 0x3ffU) << 13);
  // The exponent is moved by a multiplication, which makes subnormal numbers right too.
  return bits_as<float>(sign | bits_as<std::uint32_t>(bits_as<float>(rest << 13) * 0x1p112F));
#endif
}

/// Rounds to the nearest, halves to even.
TOWERFLOW_DEVICE Half to_half(float x) {
#if defined(__CUDACC__)
  Half result;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(result.bits) : "f"(x));
  return result;
#else
  const auto bits = bits_as<std::uint32_t>(x);
  const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000U);
  const std::uint32_t rest = bits & 0x7fffffffU;
  if (rest > 0x7f800000U) return {static_cast<std::uint16_t>(0x7fff)};
  if (rest >= 0x477ff000U) return {static_cast<std::uint16_t>(sign | 0x7c00)};
  std::uint32_t half;
  if (rest < 0x38800000U) {  // below 2^-14: a multiple of 2^-24, which adding 1/2 rounds to
    half = bits_as<std::uint32_t>(bits_as<float>(rest) + 0.5F) - 0x3f000000U;
  } else {
    half = (rest - 0x38000000U + 0xfffU + (rest >> 13 & 1)) >> 13;
  }
  return {static_cast<std::uint16_t>(sign | half)};
#endif
}

TOWERFLOW_DEVICE float to_float(BFloat16 x) {
  return bits_as<float>(static_cast<std::uint32_t>(x.bits) << 16);
}
TOWERFLOW_DEVICE BFloat16 to_bfloat16(float x) {
  const auto bits = bits_as<std::uint32_t>(x);
  if (x != x) return {static_cast<std::uint16_t>(0x7fff)};
  return {static_cast<std::uint16_t>((bits + 0x7fffU + (bits >> 16 & 1)) >> 16)};
}

/// The type in which numbers stored as T are computed.
template <class T>
struct ComputeType {
  using Type = T;
};
template <>
struct ComputeType<Half> {
  using Type = float;
};
template <>
struct ComputeType<BFloat16> {
  using Type = float;
};
template <class T>
using Compute = typename ComputeType<T>::Type;

template <class T>
TOWERFLOW_DEVICE Compute<T> widen(T x) {
  if constexpr (std::is_same_v<T, Compute<T>>) {
    return x;
  } else {
    return to_float(x);
  }
}
template <class T>
TOWERFLOW_DEVICE T narrow(Compute<T> x) {
  if constexpr (std::is_same_v<T, Half>) {
    return to_half(x);
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return to_bfloat16(x);
  } else {
    return x;
  }
}

/// Returns the lowest finite number that T stores.
template <class T>
TOWERFLOW_DEVICE Compute<T> lowest() {
  if constexpr (std::is_same_v<T, Half>) {
    return -65504.0F;
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return -0x1.fep127F;
  } else {
    return std::numeric_limits<T>::lowest();
  }
}

/// kCount neighbours, loaded and stored with one instruction; together 1, 2, 4, 8 or 16 bytes.
template <class T, int kCount>
struct alignas(sizeof(T) * kCount) Pack {
  T v[kCount];
};

template <std::size_t kBytes>
struct WordType;
#if defined(__CUDACC__)
template <>
struct WordType<16> {
  using Type = uint4;
};
#else
template <>
struct WordType<16> {
  __extension__ typedef unsigned __int128 Type __attribute__((may_alias));
};
#endif
template <>
struct WordType<8> {
  typedef std::uint64_t Type __attribute__((may_alias));
};
template <>
struct WordType<4> {
  typedef std::uint32_t Type __attribute__((may_alias));
};
template <>
struct WordType<2> {
  typedef std::uint16_t Type __attribute__((may_alias));
};
template <>
struct WordType<1> {
  typedef std::uint8_t Type __attribute__((may_alias));
};
template <std::size_t kBytes>
using Word = typename WordType<kBytes>::Type;

template <int kCount, class T>
TOWERFLOW_DEVICE Pack<T, kCount> load_pack(const T* at) {
  return bits_as<Pack<T, kCount>>(*reinterpret_cast<const Word<sizeof(T) * kCount>*>(at));
}
template <int kCount, class T>
TOWERFLOW_DEVICE void store_pack(T* at, const Pack<T, kCount>& pack) {
  using W = Word<sizeof(T) * kCount>;
  *reinterpret_cast<W*>(at) = bits_as<W>(pack);
}

/// How many neighbours a thread takes at once: as many as make 16 bytes of the widest type.
template <class... T>
constexpr int kPackOf = [] {
  std::size_t widest = 1;
  ((widest = sizeof(T) > widest ? sizeof(T) : widest), ...);
  return static_cast<int>(16 / widest);
}();

/// Returns whether packs of kCount elements can be loaded from the address on.
template <int kCount, class T>
TOWERFLOW_DEVICE bool is_aligned(const T* at) {
  return reinterpret_cast<std::uintptr_t>(at) % (sizeof(T) * kCount) == 0;
}

/// The number of this thread in the grid, and how many there are; one-dimensional.
TOWERFLOW_DEVICE int64 grid_thread() { return int64{blockIdx.x} * blockDim.x + threadIdx.x; }
TOWERFLOW_DEVICE int64 grid_threads() { return int64{gridDim.x} * blockDim.x; }

template <class T>
TOWERFLOW_DEVICE T smaller(T a, T b) {
  return b < a ? b : a;
}
template <class T>
TOWERFLOW_DEVICE T larger(T a, T b) {
  return a < b ? b : a;
}

}  // namespace towerflow::cuda::device
