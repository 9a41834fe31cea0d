#pragma once

// How the kernels of elementwise ops of two tensors run through them.

#include "cuda/device/arguments.h"
#include "cuda/device/functors.cuh"

namespace towerflow::cuda::device {

template <class F, class U, class T>
TOWERFLOW_DEVICE U join(T a, T b, [[maybe_unused]] DataError* error) {
  if constexpr (!kIsFloat<Compute<T>> && requires { F::fails(a, b); }) {
    if (F::fails(a, b)) error->set();
  }
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
TOWERFLOW_DEVICE void join_packs(const Pack<T, kPack>& a, const Pack<T, kPack>& b, U* y,
                                 DataError* error) {
  Pack<U, kPack> out;
  for (int k = 0; k < kPack; ++k) out.v[k] = join<F, U>(a.v[k], b.v[k], error);
  store_pack<kPack>(y, out);
}

template <class F, class T, class U>
TOWERFLOW_DEVICE void map_strided(const T* a, const T* b, U* y, int64 n, const BinaryShape& shape) {
  constexpr int kPack = kPackOf<T, U>;
  const Strided<2>& operands = shape.operands;
  if (shape.kind == BinaryShape::strided) {
    for (int64 i = grid_thread(); i < n; i += grid_threads()) {
      const auto from = operands.offsets(static_cast<std::uint32_t>(i));
      y[i] = join<F, U>(a[from.at[0]], b[from.at[1]], shape.error);
    }
    return;
  }
  const int inner = operands.rank - 1;
  const bool repeat_a = operands.strides[0][inner] == 0, repeat_b = operands.strides[1][inner] == 0;
  for (int64 i = grid_thread(); i < n / kPack; i += grid_threads()) {
    const auto from = operands.offsets(static_cast<std::uint32_t>(i));
    join_packs<F, kPack>(load_or_repeat<kPack>(a + from.at[0], repeat_a),
                         load_or_repeat<kPack>(b + from.at[1], repeat_b), y + i * kPack,
                         shape.error);
  }
}

template <class F, class T, class U>
TOWERFLOW_DEVICE void map_binary(const T* a, const T* b, U* y, int64 n, const BinaryShape& shape) {
  if (shape.kind >= BinaryShape::strided) return map_strided<F>(a, b, y, n, shape);
  constexpr int kPack = kPackOf<T, U>;
  const bool one_a = shape.kind == BinaryShape::left, one_b = shape.kind == BinaryShape::right;
  const bool aligned =
      (one_a || is_aligned<kPack>(a)) && (one_b || is_aligned<kPack>(b)) && is_aligned<kPack>(y);
  const int64 packs = aligned ? n / kPack : 0;
  for (int64 i = grid_thread(); i < packs; i += grid_threads()) {
    join_packs<F, kPack>(load_or_repeat<kPack>(one_a ? a : a + i * kPack, one_a),
                         load_or_repeat<kPack>(one_b ? b : b + i * kPack, one_b), y + i * kPack,
                         shape.error);
  }
  for (int64 i = packs * kPack + grid_thread(); i < n; i += grid_threads()) {
    y[i] = join<F, U>(a[one_a ? 0 : i], b[one_b ? 0 : i], shape.error);
  }
}

}  // namespace towerflow::cuda::device
