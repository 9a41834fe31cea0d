// Elementwise ops of two tensors that broadcast: kernels OP_DTYPE(a, b, y, n, shape), as
// AddV2_float32. Comparisons give bool.
#include "cuda/device/arguments.h"
#include "cuda/device/elementwise_ops.h"
#include "cuda/device/functors.cuh"

namespace towerflow::cuda::device {
namespace {

template <class F, class U, class T>
TOWERFLOW_DEVICE U join(T a, T b) {
  return narrow<U>(F()(widen(a), widen(b)));
}

/// Returns kPack neighbours, or one number kPack times.
template <int kPack, class T>
TOWERFLOW_DEVICE Pack<T, kPack> load_or_repeat(const T* at, bool repeat) {
  if (!repeat) return load_pack<kPack>(at);
  Pack<T, kPack> pack;
  const T number = *at;
  for (int k = 0; k < kPack; ++k) pack.v[k] = number;
  return pack;
}

template <class F, int kPack, class T, class U>
TOWERFLOW_DEVICE void join_packs(const Pack<T, kPack>& a, const Pack<T, kPack>& b, U* y) {
  Pack<U, kPack> out;
  for (int k = 0; k < kPack; ++k) out.v[k] = join<F, U>(a.v[k], b.v[k]);
  store_pack<kPack>(y, out);
}

template <class F, class T, class U>
TOWERFLOW_DEVICE void map_strided(const T* a, const T* b, U* y, int64 n, const BinaryShape& shape) {
  constexpr int kPack = kPackOf<T, U>;
  const Strided<2>& operands = shape.operands;
  if (shape.kind == BinaryShape::strided) {
    for (int64 i = grid_thread(); i < n; i += grid_threads()) {
      const auto from = operands.offsets(static_cast<std::uint32_t>(i));
      y[i] = join<F, U>(a[from.at[0]], b[from.at[1]]);
    }
    return;
  }
  const int inner = operands.rank - 1;
  const bool repeat_a = operands.strides[0][inner] == 0, repeat_b = operands.strides[1][inner] == 0;
  for (int64 i = grid_thread(); i < n / kPack; i += grid_threads()) {
    const auto from = operands.offsets(static_cast<std::uint32_t>(i));
    join_packs<F, kPack>(load_or_repeat<kPack>(a + from.at[0], repeat_a),
                         load_or_repeat<kPack>(b + from.at[1], repeat_b), y + i * kPack);
  }
}

template <class F, class T, class U>
TOWERFLOW_DEVICE void map(const T* a, const T* b, U* y, int64 n, const BinaryShape& shape) {
  if (shape.kind >= BinaryShape::strided) return map_strided<F>(a, b, y, n, shape);
  constexpr int kPack = kPackOf<T, U>;
  const bool one_a = shape.kind == BinaryShape::left, one_b = shape.kind == BinaryShape::right;
  const bool aligned =
      (one_a || is_aligned<kPack>(a)) && (one_b || is_aligned<kPack>(b)) && is_aligned<kPack>(y);
  const int64 packs = aligned ? n / kPack : 0;
  for (int64 i = grid_thread(); i < packs; i += grid_threads()) {
    join_packs<F, kPack>(load_or_repeat<kPack>(one_a ? a : a + i * kPack, one_a),
                         load_or_repeat<kPack>(one_b ? b : b + i * kPack, one_b), y + i * kPack);
  }
  for (int64 i = packs * kPack + grid_thread(); i < n; i += grid_threads()) {
    y[i] = join<F, U>(a[one_a ? 0 : i], b[one_b ? 0 : i]);
  }
}

}  // namespace

#define TOWERFLOW_MAP(op, name, T, U)                                                            \
  TOWERFLOW_KERNEL(op##_##name, 256, const T* a, const T* b, U* y, int64 n, BinaryShape shape) { \
    map<op>(a, b, y, n, shape);                                                                  \
  }
#define TOWERFLOW_FLOAT32(op) TOWERFLOW_MAP(op, float32, float, float)
#define TOWERFLOW_FLOAT64(op) TOWERFLOW_MAP(op, float64, double, double)
#define TOWERFLOW_FLOAT16(op) TOWERFLOW_MAP(op, float16, Half, Half)
#define TOWERFLOW_BFLOAT16(op) TOWERFLOW_MAP(op, bfloat16, BFloat16, BFloat16)
#define TOWERFLOW_INT32(op) TOWERFLOW_MAP(op, int32, std::int32_t, std::int32_t)
#define TOWERFLOW_INT64(op) TOWERFLOW_MAP(op, int64, int64, int64)
#define TOWERFLOW_TESTS(op)                    \
  TOWERFLOW_MAP(op, float32, float, bool)      \
  TOWERFLOW_MAP(op, float64, double, bool)     \
  TOWERFLOW_MAP(op, int32, std::int32_t, bool) \
  TOWERFLOW_MAP(op, int64, int64, bool)
#define TOWERFLOW_BOOL(op) TOWERFLOW_MAP(op, bool, bool, bool)

TOWERFLOW_FLOATING_BINARY_OPS(TOWERFLOW_FLOAT32)
TOWERFLOW_FLOATING_BINARY_OPS(TOWERFLOW_FLOAT64)
TOWERFLOW_SHORT_BINARY_OPS(TOWERFLOW_FLOAT16)
TOWERFLOW_SHORT_BINARY_OPS(TOWERFLOW_BFLOAT16)
TOWERFLOW_INTEGER_BINARY_OPS(TOWERFLOW_INT32)
TOWERFLOW_INTEGER_BINARY_OPS(TOWERFLOW_INT64)
TOWERFLOW_COMPARISON_OPS(TOWERFLOW_TESTS)
TOWERFLOW_LOGICAL_OPS(TOWERFLOW_BOOL)

}  // namespace towerflow::cuda::device
