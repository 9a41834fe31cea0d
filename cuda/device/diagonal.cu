// Diagonals of matrices, for elements of 1, 2, 4 or 8 bytes, as ops/array/diagonal.cc has them.
//
//   MatrixDiag_BYTES       matrices of diagonals. `from`: the matrices that other elements come
//   from
//                          (MatrixSetDiag), or null, and *padding is there (MatrixDiag)
//   MatrixDiagPart_BYTES   the diagonals of matrices, y [.., upper - lower + 1, longest], and
//   *padding MatrixBandPart_BYTES   x near the main diagonal, else 0; y may be x
#include "cuda/device/arguments.h"
#include "cuda/device/number.cuh"

namespace towerflow::cuda::device {
namespace {

template <int kBytes>
TOWERFLOW_DEVICE void matrix_diag(const void* diagonals, const void* from, const void* padding,
                                  void* y, int64 n, const DiagonalShape& s) {
  using E = Word<kBytes>;
  const int64 longest = s.longest(), count = s.upper - s.lower + 1;
  for (int64 i = grid_thread(); i < n; i += grid_threads()) {
    const int64 line = i / s.columns, matrix = line / s.rows;
    const int64 column = i - line * s.columns, row = line - matrix * s.rows, k = column - row;
    E value;
    if (k >= s.lower && k <= s.upper && longest > 0) {
      const int64 at = s.begin(k) + (k >= 0 ? row : column);
      value = static_cast<const E*>(diagonals)[(matrix * count + s.upper - k) * longest + at];
    } else {
      value = from != nullptr ? static_cast<const E*>(from)[i] : *static_cast<const E*>(padding);
    }
    static_cast<E*>(y)[i] = value;
  }
}

template <int kBytes>
TOWERFLOW_DEVICE void matrix_diag_part(const void* x, const void* padding, void* y, int64 n,
                                       const DiagonalShape& s) {
  using E = Word<kBytes>;
  const int64 longest = s.longest(), count = s.upper - s.lower + 1;
  for (int64 i = grid_thread(); i < n; i += grid_threads()) {
    const int64 line = i / longest, matrix = line / count, k = s.upper - (line - matrix * count);
    const int64 at = i - line * longest - s.begin(k);
    const int64 row = at + (k < 0 ? -k : 0), column = at + (k > 0 ? k : 0);
    const bool inside = at >= 0 && at < s.length(k);
    static_cast<E*>(y)[i] =
        inside ? static_cast<const E*>(x)[(matrix * s.rows + row) * s.columns + column]
               : *static_cast<const E*>(padding);
  }
}

template <int kBytes>
TOWERFLOW_DEVICE void matrix_band_part(const void* x, void* y, int64 n, const DiagonalShape& s) {
  using E = Word<kBytes>;
  for (int64 i = grid_thread(); i < n; i += grid_threads()) {
    const int64 line = i / s.columns, k = i - line * s.columns - line % s.rows;
    const bool inside = k >= s.lower && k <= s.upper;
    static_cast<E*>(y)[i] = inside ? static_cast<const E*>(x)[i] : E{};
  }
}

}  // namespace

#define TOWERFLOW_DIAGONALS(bytes)                                                           \
  TOWERFLOW_KERNEL(MatrixDiag_##bytes, 256, const void* diagonals, const void* from,         \
                   const void* padding, void* y, int64 n, DiagonalShape s) {                 \
    matrix_diag<bytes>(diagonals, from, padding, y, n, s);                                   \
  }                                                                                          \
  TOWERFLOW_KERNEL(MatrixDiagPart_##bytes, 256, const void* x, const void* padding, void* y, \
                   int64 n, DiagonalShape s) {                                               \
    matrix_diag_part<bytes>(x, padding, y, n, s);                                            \
  }                                                                                          \
  TOWERFLOW_KERNEL(MatrixBandPart_##bytes, 256, const void* x, void* y, int64 n,             \
                   DiagonalShape s) {                                                        \
    matrix_band_part<bytes>(x, y, n, s);                                                     \
  }

TOWERFLOW_DIAGONALS(1)
TOWERFLOW_DIAGONALS(2)
TOWERFLOW_DIAGONALS(4)
TOWERFLOW_DIAGONALS(8)

}  // namespace towerflow::cuda::device
