// Elementwise ops of one tensor: kernels OP_DTYPE(x, y, n), as Neg_float32.
//
//   CheckNumerics_T(x, error, n)   sets error->value to 1 if an element is NaN, error->position if
//                                  one is infinite
#include "cuda/device/arguments.h"
#include "cuda/device/elementwise_ops.h"
#include "cuda/device/functors.cuh"

namespace towerflow::cuda::device {
namespace {

/// Functions of doubles that take more time than memory does, and of which two at once would spill
/// registers.
template <class F>
constexpr bool kIsLong =
    std::is_same_v<F, Asin> || std::is_same_v<F, Acos> || std::is_same_v<F, Atan>;

template <class F, class T, class U>
TOWERFLOW_DEVICE void map(const T* x, U* y, int64 n) {
  constexpr int kPack = kPackOf<T, U>;
  int64 packs = 0;
  if constexpr (!kIsLong<F> || sizeof(T) < 8) {
    if (is_aligned<kPack>(x) && is_aligned<kPack>(y)) packs = n / kPack;
    for (int64 i = grid_thread(); i < packs; i += grid_threads()) {
      const Pack<T, kPack> in = load_pack<kPack>(x + i * kPack);
      Pack<U, kPack> out;
      for (int k = 0; k < kPack; ++k) out.v[k] = narrow<U>(F()(widen(in.v[k])));
      store_pack<kPack>(y + i * kPack, out);
    }
  }
#if defined(__CUDACC__)
#pragma unroll 1  // else ptxas spills registers of long functions
#endif
  for (int64 i = packs * kPack + grid_thread(); i < n; i += grid_threads()) {
    y[i] = narrow<U>(F()(widen(x[i])));
  }
}

template <class T>
TOWERFLOW_DEVICE void check_numerics(const T* x, DataError* error, int64 n) {
  TOWERFLOW_SHARED_BY_THREADS(DataError)& found = *error;
  for (int64 i = grid_thread(); i < n; i += grid_threads()) {
    const Compute<T> value = widen(x[i]);
    if (IsFinite()(value)) continue;
    if (IsNan()(value)) found.notes[0] = 1;
    if (IsInf()(value)) found.notes[1] = 1;
    found.found = 1;
  }
}

}  // namespace

#define TOWERFLOW_CHECK_NUMERICS(name, T)                                              \
  TOWERFLOW_KERNEL(CheckNumerics_##name, 256, const T* x, DataError* error, int64 n) { \
    check_numerics(x, error, n);                                                       \
  }
TOWERFLOW_CHECK_NUMERICS(float32, float)
TOWERFLOW_CHECK_NUMERICS(float64, double)
TOWERFLOW_CHECK_NUMERICS(float16, Half)
TOWERFLOW_CHECK_NUMERICS(bfloat16, BFloat16)

#define TOWERFLOW_MAP(op, name, T, U) \
  TOWERFLOW_KERNEL(op##_##name, 256, const T* x, U* y, int64 n) { map<op>(x, y, n); }
#define TOWERFLOW_FLOAT32(op) TOWERFLOW_MAP(op, float32, float, float)
#define TOWERFLOW_FLOAT64(op) TOWERFLOW_MAP(op, float64, double, double)
#define TOWERFLOW_FLOAT16(op) TOWERFLOW_MAP(op, float16, Half, Half)
#define TOWERFLOW_BFLOAT16(op) TOWERFLOW_MAP(op, bfloat16, BFloat16, BFloat16)
#define TOWERFLOW_INT32(op) TOWERFLOW_MAP(op, int32, std::int32_t, std::int32_t)
#define TOWERFLOW_INT64(op) TOWERFLOW_MAP(op, int64, int64, int64)
#define TOWERFLOW_TEST32(op) TOWERFLOW_MAP(op, float32, float, bool)
#define TOWERFLOW_TEST64(op) TOWERFLOW_MAP(op, float64, double, bool)

TOWERFLOW_FLOATING_UNARY_OPS(TOWERFLOW_FLOAT32)
TOWERFLOW_FLOATING_UNARY_OPS(TOWERFLOW_FLOAT64)
TOWERFLOW_SHORT_UNARY_OPS(TOWERFLOW_FLOAT16)
TOWERFLOW_SHORT_UNARY_OPS(TOWERFLOW_BFLOAT16)
TOWERFLOW_INTEGER_UNARY_OPS(TOWERFLOW_INT32)
TOWERFLOW_INTEGER_UNARY_OPS(TOWERFLOW_INT64)
TOWERFLOW_PREDICATE_OPS(TOWERFLOW_TEST32)
TOWERFLOW_PREDICATE_OPS(TOWERFLOW_TEST64)
TOWERFLOW_MAP(LogicalNot, bool, bool, bool)

}  // namespace towerflow::cuda::device
