// Copies of elements of 1, 2, 4, 8 or 16 bytes; strides and sizes count elements. If rows allow it,
// the code that launches copies wider elements than the tensor has.
//
//   StridedCopy_BYTES   y[i] = x[offset(i)]: slices, with any steps, repeats (stride 0), reversals
//                       and transposes in general
//   StridedStore_BYTES  y[offset(i)] = x[i]: the gradients of slices
//   Transpose_BYTES     [batch, rows, columns] -> [batch, columns, rows]; blocks of 32 x 8 threads;
//                       grid.x: tiles of 32 columns, grid.y: of 32 rows, grid.z: batch
//   Pad_BYTES           pads with a value, or by mirroring; or rolls
//   CopyMany_BYTES      many copies of rows that are apart: concatenation and split
//   Fill_BYTES          y[i] = value
#include "cuda/device/arguments.h"
#include "cuda/device/number.cuh"

namespace towerflow::cuda::device {
namespace {

template <int kBytes>
TOWERFLOW_DEVICE void strided_copy(const void* x, void* y, int64 n, const Strided<1>& shape,
                                   bool store) {
  using E = Word<kBytes>;
  for (int64 i = grid_thread(); i < n; i += grid_threads()) {
    const int64 at = shape.offsets(static_cast<std::uint32_t>(i)).at[0];
    static_cast<E*>(y)[store ? at : i] = static_cast<const E*>(x)[store ? i : at];
  }
}

/// The elements lie one apart, so that those of a column are in different banks.
template <int kBytes>
using Tile = Word<kBytes>[32][33];

template <int kBytes>
TOWERFLOW_DEVICE void transpose(const void* x, void* y, int64 rows, int64 columns) {
  using E = Word<kBytes>;
  TOWERFLOW_SHARED(Tile<kBytes>, tile);
  const int64 image = blockIdx.z * rows * columns;
  const auto* from = static_cast<const E*>(x) + image;
  auto* to = static_cast<E*>(y) + image;
  const int64 row = int64{blockIdx.y} * 32, column = int64{blockIdx.x} * 32;
  for (unsigned i = threadIdx.y; i < 32; i += 8) {
    if (row + i < rows && column + threadIdx.x < columns) {
      tile[i][threadIdx.x] = from[(row + i) * columns + column + threadIdx.x];
    }
  }
  __syncthreads();
  for (unsigned i = threadIdx.y; i < 32; i += 8) {
    if (column + i < columns && row + threadIdx.x < rows) {
      to[(column + i) * rows + row + threadIdx.x] = tile[threadIdx.x][i];
    }
  }
}

/// Returns the index of the element that a position shows, mirrored at the ends; -1: none.
TOWERFLOW_DEVICE int64 mirrored(int64 at, int64 size, int mode) {
  if (at >= 0 && at < size) return at;
  if (mode == PadShape::constant) return -1;
  if (mode == PadShape::wrap) return at + size;
  const int64 twice = mode == PadShape::symmetric ? 1 : 0;  // whether the border appears twice
  return at < 0 ? -at - twice : 2 * (size - 1) - at + twice;
}

template <int kBytes>
TOWERFLOW_DEVICE void pad(const void* x, void* y, int64 n, const PadShape& s, PadValue value) {
  using E = Word<kBytes>;
  E filling;
  __builtin_memcpy(&filling, value.bytes, sizeof(E));
  for (int64 i = grid_thread(); i < n; i += grid_threads()) {
    auto element = static_cast<std::uint32_t>(i);
    int64 from = 0;
    bool inside = true;
    for (int d = s.rank - 1; d >= 0; --d) {
      const std::uint32_t outer = s.sizes[d].quotient(element);
      const int64 at = int64{element - outer * s.sizes[d].divisor} - s.before[d];
      const int64 index = mirrored(at, s.inner[d], s.mode);
      inside &= index >= 0;
      from += index * s.strides[d];
      element = outer;
    }
    static_cast<E*>(y)[i] = inside ? static_cast<const E*>(x)[from] : filling;
  }
}

template <int kBytes>
TOWERFLOW_DEVICE void copy_many(const CopyList& list) {
  using E = Word<kBytes>;
  int low = 0, high = list.count;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (list.copies[middle].first_block <= blockIdx.x ? low : high) = middle;
  }
  const CopyList::Copy& copy = list.copies[low];
  const int64 begin = int64{blockIdx.x - copy.first_block} * kCopyChunk;
  const int64 end = smaller<int64>(begin + kCopyChunk, int64{copy.rows} * copy.width);
  for (int64 i = begin + threadIdx.x; i < end; i += blockDim.x) {
    const int64 row = i / copy.width, k = i - row * copy.width;
    static_cast<E*>(copy.to)[row * copy.to_pitch + k] =
        static_cast<const E*>(copy.from)[row * copy.from_pitch + k];
  }
}

template <int kBytes>
TOWERFLOW_DEVICE void fill(void* y, int64 n, PadValue value) {
  using E = Word<kBytes>;
  E filling;
  __builtin_memcpy(&filling, value.bytes, sizeof(E));
  for (int64 i = grid_thread(); i < n; i += grid_threads()) static_cast<E*>(y)[i] = filling;
}

}  // namespace

#define TOWERFLOW_COPIES(bytes)                                                                    \
  TOWERFLOW_KERNEL(StridedCopy_##bytes, 256, const void* x, void* y, int64 n, Strided<1> shape) {  \
    strided_copy<bytes>(x, y, n, shape, false);                                                    \
  }                                                                                                \
  TOWERFLOW_KERNEL(StridedStore_##bytes, 256, const void* x, void* y, int64 n, Strided<1> shape) { \
    strided_copy<bytes>(x, y, n, shape, true);                                                     \
  }                                                                                                \
  TOWERFLOW_MEETING_KERNEL(Transpose_##bytes, 256, sizeof(Tile<bytes>), const void* x, void* y,    \
                           int64 rows, int64 columns) {                                            \
    transpose<bytes>(x, y, rows, columns);                                                         \
  }                                                                                                \
  TOWERFLOW_KERNEL(CopyMany_##bytes, 256, CopyList list) { copy_many<bytes>(list); }
#define TOWERFLOW_PAD(bytes)                                                          \
  TOWERFLOW_KERNEL(Pad_##bytes, 256, const void* x, void* y, int64 n, PadShape shape, \
                   PadValue value) {                                                  \
    pad<bytes>(x, y, n, shape, value);                                                \
  }
#define TOWERFLOW_FILL(bytes)                                             \
  TOWERFLOW_KERNEL(Fill_##bytes, 256, void* y, int64 n, PadValue value) { \
    fill<bytes>(y, n, value);                                             \
  }

TOWERFLOW_COPIES(1)
TOWERFLOW_COPIES(2)
TOWERFLOW_COPIES(4)
TOWERFLOW_COPIES(8)
TOWERFLOW_COPIES(16)

// Of the elements that tensors have, and of the numbers of segments.
TOWERFLOW_PAD(1)
TOWERFLOW_PAD(2)
TOWERFLOW_PAD(4)
TOWERFLOW_PAD(8)
TOWERFLOW_FILL(4)
TOWERFLOW_FILL(8)

}  // namespace towerflow::cuda::device
