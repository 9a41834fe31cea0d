// Cast between all types that TensorFlow casts on GPUs but complex ones, with the rules of
// ops/array/cast_value.h: kernels Cast_FROM_TO(x, y, n), as Cast_bool_float32. 16-bit numbers are
// converted by way of float.
#include "ops/array/cast_value.h"

#include "cuda/device/number.cuh"

namespace towerflow::cuda::device {
namespace {

template <class To, class From>
TOWERFLOW_DEVICE To converted(From x) {
  return narrow<To>(cast_value<Compute<From>, Compute<To>>(widen(x)));
}

template <class From, class To>
TOWERFLOW_DEVICE void cast(const From* x, To* y, int64 n) {
  constexpr int kPack = kPackOf<From, To>;
  const int64 packs = is_aligned<kPack>(x) && is_aligned<kPack>(y) ? n / kPack : 0;
  for (int64 i = grid_thread(); i < packs; i += grid_threads()) {
    const Pack<From, kPack> in = load_pack<kPack>(x + i * kPack);
    Pack<To, kPack> out;
    for (int k = 0; k < kPack; ++k) out.v[k] = converted<To>(in.v[k]);
    store_pack<kPack>(y + i * kPack, out);
  }
  for (int64 i = packs * kPack + grid_thread(); i < n; i += grid_threads()) {
    y[i] = converted<To>(x[i]);
  }
}

}  // namespace

#define TOWERFLOW_CAST(from, From, to, To) \
  TOWERFLOW_KERNEL(Cast_##from##_##to, 256, const From* x, To* y, int64 n) { cast(x, y, n); }
/// Both directions between a type and another.
#define TOWERFLOW_PAIR(a, A, b, B) \
  TOWERFLOW_CAST(a, A, b, B)       \
  TOWERFLOW_CAST(b, B, a, A)
#define TOWERFLOW_WITH_FLOATS(a, A)        \
  TOWERFLOW_PAIR(a, A, float16, Half)      \
  TOWERFLOW_PAIR(a, A, bfloat16, BFloat16) \
  TOWERFLOW_PAIR(a, A, float32, float)     \
  TOWERFLOW_PAIR(a, A, float64, double)

TOWERFLOW_PAIR(bool, bool, uint8, std::uint8_t)
TOWERFLOW_PAIR(bool, bool, int32, std::int32_t)
TOWERFLOW_PAIR(bool, bool, int64, int64)
TOWERFLOW_PAIR(uint8, std::uint8_t, int32, std::int32_t)
TOWERFLOW_PAIR(uint8, std::uint8_t, int64, int64)
TOWERFLOW_PAIR(int32, std::int32_t, int64, int64)
TOWERFLOW_WITH_FLOATS(bool, bool)
TOWERFLOW_WITH_FLOATS(uint8, std::uint8_t)
TOWERFLOW_WITH_FLOATS(int32, std::int32_t)
TOWERFLOW_WITH_FLOATS(int64, int64)

// Integers that only casts have.
#define TOWERFLOW_WITH_ALL(a, A)            \
  TOWERFLOW_PAIR(a, A, bool, bool)          \
  TOWERFLOW_PAIR(a, A, uint8, std::uint8_t) \
  TOWERFLOW_PAIR(a, A, int32, std::int32_t) \
  TOWERFLOW_PAIR(a, A, int64, int64)        \
  TOWERFLOW_WITH_FLOATS(a, A)
TOWERFLOW_WITH_ALL(int8, std::int8_t)
TOWERFLOW_WITH_ALL(int16, std::int16_t)
TOWERFLOW_WITH_ALL(uint16, std::uint16_t)
TOWERFLOW_PAIR(int8, std::int8_t, int16, std::int16_t)
TOWERFLOW_PAIR(int8, std::int8_t, uint16, std::uint16_t)
TOWERFLOW_PAIR(int16, std::int16_t, uint16, std::uint16_t)

TOWERFLOW_PAIR(float16, Half, bfloat16, BFloat16)
TOWERFLOW_PAIR(float16, Half, float32, float)
TOWERFLOW_PAIR(float16, Half, float64, double)
TOWERFLOW_PAIR(bfloat16, BFloat16, float32, float)
TOWERFLOW_PAIR(bfloat16, BFloat16, float64, double)
TOWERFLOW_PAIR(float32, float, float64, double)

}  // namespace towerflow::cuda::device
