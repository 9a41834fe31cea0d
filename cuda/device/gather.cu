// Gather: out[o, i, :] = params[o, indices[i], :], as copies of elements of 1, 2, 4, 8 or 16 bytes
// (a row whose bytes and addresses allow 16 is copied so, whatever its type): kernels
// Gather_BYTES_INDEX. `width` counts the elements of a row. An index outside of [0, size) gives
// zeros and sets *error.
#include "cuda/device/arguments.h"
#include "cuda/device/number.cuh"

namespace towerflow::cuda::device {
namespace {

template <int kBytes, class Index>
TOWERFLOW_DEVICE void gather(const void* params, const Index* indices, void* out, DataError* error,
                             int64 outer, int64 size, int64 count, int64 width) {
  using E = Word<kBytes>;
  const auto* from = static_cast<const E*>(params);
  auto* to = static_cast<E*>(out);
  const int64 n = outer * count * width;
  for (int64 i = grid_thread(); i < n; i += grid_threads()) {
    const int64 row = i / width, k = i - row * width, o = row / count;
    const auto index = static_cast<int64>(indices[row - o * count]);
    if (index >= 0 && index < size) {
      to[i] = from[(o * size + index) * width + k];
    } else {
      to[i] = E{};
      error->set(index, row - o * count);
    }
  }
}

}  // namespace

#define TOWERFLOW_GATHER(bytes)                                                                  \
  TOWERFLOW_KERNEL(Gather_##bytes##_int32, 256, const void* params, const std::int32_t* indices, \
                   void* out, DataError* error, int64 outer, int64 size, int64 count,            \
                   int64 width) {                                                                \
    gather<bytes>(params, indices, out, error, outer, size, count, width);                       \
  }                                                                                              \
  TOWERFLOW_KERNEL(Gather_##bytes##_int64, 256, const void* params, const int64* indices,        \
                   void* out, DataError* error, int64 outer, int64 size, int64 count,            \
                   int64 width) {                                                                \
    gather<bytes>(params, indices, out, error, outer, size, count, width);                       \
  }

TOWERFLOW_GATHER(1)
TOWERFLOW_GATHER(2)
TOWERFLOW_GATHER(4)
TOWERFLOW_GATHER(8)
TOWERFLOW_GATHER(16)

}  // namespace towerflow::cuda::device
