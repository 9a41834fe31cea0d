// Reductions in a fixed order: kernels OP_FORM_DTYPE, as Sum_rows_float32. All have blocks of 256
// threads. A mean is a sum with a divisor. `parts` > 1 divides the elements of each result among
// that many blocks, whose partial results a second launch reduces; only that one divides. Results
// of 16-bit numbers are float: the second launch reduces float, and a Cast rounds once.
//
//   rows     x [rows, columns] -> y [rows, parts]; `group` threads a row, 32 or 256;
//            grid.x: any number, grid.y: parts
//   columns  x [outer, rows, columns] -> y [outer, parts, columns];
//            grid.x: tiles of 256 columns (or packs of columns: of 16 bytes of the results),
//            grid.y: outer, grid.z: parts
//   general  y [n]: each result reduces the elements at kept.offsets(i) + reduced.offsets(k);
//            one warp for each
#include "cuda/device/arguments.h"
#include "cuda/device/group.cuh"

namespace towerflow::cuda::device {
namespace {

template <class T>
TOWERFLOW_DEVICE T divided(T total, double divisor) {
  if constexpr (kIsFloat<T>) {
    if (divisor != 1) return total / static_cast<T>(divisor);
  }
  return total;
}

/// The elements of a part: [begin, end) of n.
struct Part {
  int64 begin, end;
  TOWERFLOW_DEVICE Part(int64 n, int64 part, int64 parts) {
    const int64 most = (n + parts - 1) / parts;
    begin = smaller(part * most, n);
    end = smaller(begin + most, n);
  }
};

template <class R, class T>
TOWERFLOW_DEVICE Compute<T> reduce_elements(const T* x, int64 n, int thread, int threads) {
  constexpr int kPack = kPackOf<T>;
  using C = Compute<T>;
  C total = R::start();
  const int64 packs = is_aligned<kPack>(x) ? n / kPack : 0;
  for (int64 i = thread; i < packs; i += threads) {
    const Pack<T, kPack> in = load_pack<kPack>(x + i * kPack);
    C joined = widen(in.v[0]);
    for (int k = 1; k < kPack; ++k) joined = R::join(joined, widen(in.v[k]));
    total = R::join(total, joined);
  }
  for (int64 i = packs * kPack + thread; i < n; i += threads) total = R::join(total, widen(x[i]));
  return total;
}

template <class R, class T>
TOWERFLOW_DEVICE void reduce_rows(const T* x, Compute<T>* y, int64 rows, int64 columns, int threads,
                                  double divisor) {
  using C = Compute<T>;
  TOWERFLOW_SHARED(WarpNumbers<C>, shared);
  const RowGroup group(threads);
  const Part part(columns, blockIdx.y, gridDim.y);
  // Every thread of a block makes the same number of turns: they meet in each.
  for (int64 first = 0; first < rows; first += group.rows_at_once) {
    const int64 row = first + group.row;
    const C own = row < rows ? reduce_elements<R>(x + row * columns + part.begin,
                                                  part.end - part.begin, group.thread, group.size)
                             : R::start();
    const C total = group.template reduce<R>(own, shared);
    if (row < rows && group.thread == 0) y[row * gridDim.y + blockIdx.y] = divided(total, divisor);
  }
}

template <class T, int kPack>
using Partials = Pack<T, kPack>[kGroupBlock];

/// A block reduces up to kGroupBlock columns, or packs of columns. If there are fewer, it takes
/// several rows at once, whose neighbours are neighbours in memory.
template <class R, int kPack, class T>
TOWERFLOW_DEVICE void reduce_columns(const T* x, Compute<T>* y, int64 rows, int64 columns,
                                     double divisor, Partials<Compute<T>, kPack>& shared) {
  const int64 units = columns / kPack, first = int64{blockIdx.x} * kGroupBlock;
  const int tile = static_cast<int>(smaller<int64>(units - first, kGroupBlock));
  const int at_once = kGroupBlock / tile;
  const int column = static_cast<int>(threadIdx.x) % tile,
            row = static_cast<int>(threadIdx.x) / tile;
  const Part part(rows, blockIdx.z, gridDim.z);
  Pack<Compute<T>, kPack> total;
  for (int k = 0; k < kPack; ++k) total.v[k] = R::start();
  const T* from = x + (blockIdx.y * rows) * columns + (first + column) * kPack;
  for (int64 r = part.begin + row; row < at_once && r < part.end; r += at_once) {
    const Pack<T, kPack> in = load_pack<kPack>(from + r * columns);
    for (int k = 0; k < kPack; ++k) total.v[k] = R::join(total.v[k], widen(in.v[k]));
  }
  store_pack<kPack>(shared[threadIdx.x].v, total);
  __syncthreads();
  if (row > 0) return;
  for (int r = 1; r < at_once; ++r) {
    const Pack<Compute<T>, kPack> other = load_pack<kPack>(shared[r * tile + column].v);
    for (int k = 0; k < kPack; ++k) total.v[k] = R::join(total.v[k], other.v[k]);
  }
  for (int k = 0; k < kPack; ++k) total.v[k] = divided(total.v[k], divisor);
  store_pack<kPack>(
      y + (int64{blockIdx.y} * gridDim.z + blockIdx.z) * columns + (first + column) * kPack, total);
}

template <class R, class T>
TOWERFLOW_DEVICE void reduce_columns(const T* x, Compute<T>* y, int64 rows, int64 columns,
                                     int packed, double divisor) {
  constexpr int kPack = kPackOf<Compute<T>>;
  using Whole = Partials<Compute<T>, kPack>;
  using Single = Partials<Compute<T>, 1>;
  TOWERFLOW_SHARED(Whole, shared);
  if (packed != 0) return reduce_columns<R, kPack>(x, y, rows, columns, divisor, shared);
  reduce_columns<R, 1>(x, y, rows, columns, divisor, reinterpret_cast<Single&>(shared));
}

template <class R, class T>
TOWERFLOW_DEVICE void reduce_general(const T* x, Compute<T>* y, int64 n, const Strided<1>& kept,
                                     int64 count, const Strided<1>& reduced, double divisor) {
  const RowGroup warp(32);
  for (int64 i = warp.row; i < n; i += warp.rows_at_once) {
    const T* from = x + kept.offsets(static_cast<std::uint32_t>(i)).at[0];
    Compute<T> total = R::start();
    for (int64 k = warp.thread; k < count; k += 32) {
      total = R::join(total, widen(from[reduced.offsets(static_cast<std::uint32_t>(k)).at[0]]));
    }
    total = reduce_warp<R>(total);
    if (warp.thread == 0) y[i] = divided(total, divisor);
  }
}

}  // namespace

#define TOWERFLOW_REDUCTION(op, name, T)                                                          \
  TOWERFLOW_MEETING_KERNEL(op##_rows_##name, 256, sizeof(WarpNumbers<Compute<T>>), const T* x,    \
                           Compute<T>* y, int64 rows, int64 columns, int group, double divisor) { \
    reduce_rows<op<Compute<T>>>(x, y, rows, columns, group, divisor);                             \
  }                                                                                               \
  TOWERFLOW_MEETING_KERNEL(op##_columns_##name, 256, 16 * kGroupBlock, const T* x, Compute<T>* y, \
                           int64 rows, int64 columns, int packed, double divisor) {               \
    reduce_columns<op<Compute<T>>>(x, y, rows, columns, packed, divisor);                         \
  }                                                                                               \
  TOWERFLOW_MEETING_KERNEL(op##_general_##name, 256, 0, const T* x, Compute<T>* y, int64 n,       \
                           Strided<1> kept, int64 count, Strided<1> reduced, double divisor) {    \
    reduce_general<op<Compute<T>>>(x, y, n, kept, count, reduced, divisor);                       \
  }
#define TOWERFLOW_NUMBERS(op)                  \
  TOWERFLOW_REDUCTION(op, float32, float)      \
  TOWERFLOW_REDUCTION(op, float64, double)     \
  TOWERFLOW_REDUCTION(op, float16, Half)       \
  TOWERFLOW_REDUCTION(op, bfloat16, BFloat16)  \
  TOWERFLOW_REDUCTION(op, int32, std::int32_t) \
  TOWERFLOW_REDUCTION(op, int64, int64)

TOWERFLOW_NUMBERS(Sum)
TOWERFLOW_NUMBERS(Prod)
TOWERFLOW_NUMBERS(Max)
TOWERFLOW_NUMBERS(Min)
TOWERFLOW_REDUCTION(All, bool, bool)
TOWERFLOW_REDUCTION(Any, bool, bool)

}  // namespace towerflow::cuda::device
