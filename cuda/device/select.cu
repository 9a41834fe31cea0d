// Choices, for elements of 1, 2, 4 or 8 bytes.
//
//   Select_BYTES         y[i] = condition ? a : b
//   OneHot_BYTES_INDEX   y [outer, depth, inner]: *on where the index [outer, inner] is, else *off;
//                        fewer than 2^31 elements
//   LeakyRelu_T, LeakyReluGrad_T   times alpha where x is not above 0
//   ClipByValue_T(x, low, high, y, n, one_low, one_high)   bounds are single numbers or tensors
#include "cuda/device/binary.cuh"

namespace towerflow::cuda::device {
namespace {

template <int kBytes>
using Bits = std::conditional_t<
    kBytes == 1, std::uint8_t,
    std::conditional_t<kBytes == 2, std::uint16_t,
                       std::conditional_t<kBytes == 4, std::uint32_t, std::uint64_t>>>;

template <int kBytes>
TOWERFLOW_DEVICE void select_strided(const bool* condition, const void* a, const void* b, void* y,
                                     int64 n, const SelectShape& shape) {
  using E = Word<kBytes>;
  const auto *from_a = static_cast<const E*>(a), *from_b = static_cast<const E*>(b);
  for (int64 i = grid_thread(); i < n; i += grid_threads()) {
    const auto from = shape.operands.offsets(static_cast<std::uint32_t>(i));
    static_cast<E*>(y)[i] = condition[from.at[0]] ? from_a[from.at[1]] : from_b[from.at[2]];
  }
}

template <int kPack, class E>
TOWERFLOW_DEVICE void select_pack(const bool* condition, const E* a, const E* b, E* y, int64 at,
                                  const SelectShape& shape) {
  const auto place = [&](int operand) { return shape.one[operand] != 0 ? 0 : at; };
  const auto chosen = load_or_repeat<kPack>(condition + place(0), shape.one[0] != 0);
  const auto in_a = load_or_repeat<kPack>(a + place(1), shape.one[1] != 0);
  const auto in_b = load_or_repeat<kPack>(b + place(2), shape.one[2] != 0);
  Pack<E, kPack> out;
  for (int k = 0; k < kPack; ++k) out.v[k] = chosen.v[k] ? in_a.v[k] : in_b.v[k];
  store_pack<kPack>(y + at, out);
}

template <int kBytes>
TOWERFLOW_DEVICE void select(const bool* condition, const void* a, const void* b, void* y, int64 n,
                             const SelectShape& shape) {
  if (shape.strided != 0) return select_strided<kBytes>(condition, a, b, y, n, shape);
  using E = Bits<kBytes>;
  constexpr int kPack = 16 / kBytes;
  const auto *from_a = static_cast<const E*>(a), *from_b = static_cast<const E*>(b);
  auto* to = static_cast<E*>(y);
  const bool aligned = (shape.one[0] != 0 || is_aligned<kPack>(condition)) &&
                       (shape.one[1] != 0 || is_aligned<kPack>(from_a)) &&
                       (shape.one[2] != 0 || is_aligned<kPack>(from_b)) && is_aligned<kPack>(to);
  const int64 packs = aligned ? n / kPack : 0;
  for (int64 i = grid_thread(); i < packs; i += grid_threads()) {
    select_pack<kPack>(condition, from_a, from_b, to, i * kPack, shape);
  }
  for (int64 i = packs * kPack + grid_thread(); i < n; i += grid_threads()) {
    select_pack<1>(condition, from_a, from_b, to, i, shape);
  }
}

template <int kBytes, class Index>
TOWERFLOW_DEVICE void one_hot(const Index* indices, const void* on, const void* off, void* y,
                              int64 n, const Divisor& depth, const Divisor& inner) {
  using E = Word<kBytes>;
  const E yes = *static_cast<const E*>(on), no = *static_cast<const E*>(off);
  for (int64 i = grid_thread(); i < n; i += grid_threads()) {
    const auto element = static_cast<std::uint32_t>(i);
    const std::uint32_t row = inner.quotient(element), outer = depth.quotient(row);
    const std::uint32_t at = outer * inner.divisor + element - row * inner.divisor;
    const int64 place = row - outer * depth.divisor;
    static_cast<E*>(y)[i] = static_cast<int64>(indices[at]) == place ? yes : no;
  }
}

/// y = x where `feature` is above 0, else alpha x. LeakyRelu's features are x itself.
template <class T>
TOWERFLOW_DEVICE void leaky_relu(const T* x, const T* features, T* y, int64 n, double alpha) {
  const auto factor = static_cast<Compute<T>>(alpha);
  for (int64 i = grid_thread(); i < n; i += grid_threads()) {
    const Compute<T> value = widen(x[i]);
    y[i] = narrow<T>(widen(features[i]) > 0 ? value : factor * value);
  }
}

template <class T>
TOWERFLOW_DEVICE void clip(const T* x, const T* low, const T* high, T* y, int64 n, int one_low,
                           int one_high) {
  for (int64 i = grid_thread(); i < n; i += grid_threads()) {
    const auto below = smaller(widen(x[i]), widen(high[one_high != 0 ? 0 : i]));
    y[i] = narrow<T>(larger(below, widen(low[one_low != 0 ? 0 : i])));
  }
}

}  // namespace

#define TOWERFLOW_CLIP(name, T)                                                            \
  TOWERFLOW_KERNEL(ClipByValue_##name, 256, const T* x, const T* low, const T* high, T* y, \
                   int64 n, int one_low, int one_high) {                                   \
    clip(x, low, high, y, n, one_low, one_high);                                           \
  }
TOWERFLOW_CLIP(float32, float)
TOWERFLOW_CLIP(float64, double)
TOWERFLOW_CLIP(float16, Half)
TOWERFLOW_CLIP(bfloat16, BFloat16)
TOWERFLOW_CLIP(int32, std::int32_t)
TOWERFLOW_CLIP(int64, int64)
TOWERFLOW_CLIP(uint8, std::uint8_t)

#define TOWERFLOW_ONE_HOT(bytes, name, Index)                                          \
  TOWERFLOW_KERNEL(OneHot_##bytes##_##name, 256, const Index* indices, const void* on, \
                   const void* off, void* y, int64 n, Divisor depth, Divisor inner) {  \
    one_hot<bytes>(indices, on, off, y, n, depth, inner);                              \
  }
#define TOWERFLOW_CHOICES(bytes)                                                             \
  TOWERFLOW_KERNEL(Select_##bytes, 256, const bool* condition, const void* a, const void* b, \
                   void* y, int64 n, SelectShape shape) {                                    \
    select<bytes>(condition, a, b, y, n, shape);                                             \
  }                                                                                          \
  TOWERFLOW_ONE_HOT(bytes, uint8, std::uint8_t)                                              \
  TOWERFLOW_ONE_HOT(bytes, int32, std::int32_t)                                              \
  TOWERFLOW_ONE_HOT(bytes, int64, int64)

TOWERFLOW_CHOICES(1)
TOWERFLOW_CHOICES(2)
TOWERFLOW_CHOICES(4)
TOWERFLOW_CHOICES(8)

#define TOWERFLOW_LEAKY(name, T)                                                       \
  TOWERFLOW_KERNEL(LeakyRelu_##name, 256, const T* x, T* y, int64 n, double alpha) {   \
    leaky_relu(x, x, y, n, alpha);                                                     \
  }                                                                                    \
  TOWERFLOW_KERNEL(LeakyReluGrad_##name, 256, const T* dy, const T* x, T* dx, int64 n, \
                   double alpha) {                                                     \
    leaky_relu(dy, x, dx, n, alpha);                                                   \
  }

TOWERFLOW_LEAKY(float32, float)
TOWERFLOW_LEAKY(float64, double)
TOWERFLOW_LEAKY(float16, Half)
TOWERFLOW_LEAKY(bfloat16, BFloat16)

}  // namespace towerflow::cuda::device
