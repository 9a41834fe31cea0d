// Running sums and products: kernels OP_FORM_DTYPE, as Cumsum_rows_float32, with blocks of 256
// threads. `exclusive`: without the element itself; `reverse`: from the end on.
//
//   columns  x [blocks, n, inner] -> y along n; a thread for each line, with the bits of the CPU
//   rows     x [rows, n] -> y; a block for each row, grid.x: any number. Fixed order, but sums are
//            joined by warps and so have other bits than the CPU's
#include "cuda/device/group.cuh"

namespace towerflow::cuda::device {
namespace {

template <class R, class T>
TOWERFLOW_DEVICE void scan_columns(const T* x, T* y, int64 blocks, int64 n, int64 inner,
                                   int exclusive, int reverse) {
  for (int64 i = grid_thread(); i < blocks * inner; i += grid_threads()) {
    const int64 block = i / inner, first = block * n * inner + i - block * inner;
    auto total = R::start();
    for (int64 k = 0; k < n; ++k) {
      const int64 at = first + (reverse != 0 ? n - 1 - k : k) * inner;
      const auto before = total;
      total = R::join(total, widen(x[at]));
      y[at] = narrow<T>(exclusive != 0 ? before : total);
    }
  }
}

template <class R, class T>
TOWERFLOW_DEVICE void scan_rows(const T* x, T* y, int64 rows, int64 n, int exclusive, int reverse) {
  using C = Compute<T>;
  TOWERFLOW_SHARED(WarpNumbers<C>, shared);
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int64 row = blockIdx.x; row < rows; row += gridDim.x) {
    C carried = R::start();  // of the tiles before this one
    for (int64 first = 0; first < n; first += kGroupBlock) {
      const int64 k = first + threadIdx.x;
      const int64 at = row * n + (reverse != 0 ? n - 1 - k : k);
      C total = k < n ? widen(x[at]) : R::start();
      for (unsigned distance = 1; distance < 32; distance *= 2) {
        const C other = __shfl_up_sync(kAllLanes, total, distance);
        if (lane >= distance) total = R::join(other, total);
      }
      __syncthreads();  // the totals of the last tile have been read
      if (lane == 31) shared[warp] = total;
      __syncthreads();
      C before = carried;
      for (unsigned w = 0; w < kGroupBlock / 32; ++w) {
        carried = R::join(carried, shared[w]);
        if (w + 1 == warp) before = carried;
      }
      const C earlier = __shfl_up_sync(kAllLanes, total, 1);
      if (exclusive != 0) total = lane == 0 ? R::start() : earlier;
      if (k < n) y[at] = narrow<T>(R::join(before, total));
    }
  }
}

}  // namespace

#define TOWERFLOW_SCAN(op, R, name, T)                                                             \
  TOWERFLOW_KERNEL(op##_columns_##name, 256, const T* x, T* y, int64 blocks, int64 n, int64 inner, \
                   int exclusive, int reverse) {                                                   \
    scan_columns<R<Compute<T>>>(x, y, blocks, n, inner, exclusive, reverse);                       \
  }                                                                                                \
  TOWERFLOW_MEETING_KERNEL(op##_rows_##name, 256, sizeof(WarpNumbers<Compute<T>>), const T* x,     \
                           T* y, int64 rows, int64 n, int exclusive, int reverse) {                \
    scan_rows<R<Compute<T>>>(x, y, rows, n, exclusive, reverse);                                   \
  }
#define TOWERFLOW_SCANS(name, T)       \
  TOWERFLOW_SCAN(Cumsum, Sum, name, T) \
  TOWERFLOW_SCAN(Cumprod, Prod, name, T)

TOWERFLOW_SCANS(float32, float)
TOWERFLOW_SCANS(float64, double)
TOWERFLOW_SCANS(float16, Half)
TOWERFLOW_SCANS(bfloat16, BFloat16)
TOWERFLOW_SCANS(int32, std::int32_t)
TOWERFLOW_SCANS(int64, int64)

}  // namespace towerflow::cuda::device
