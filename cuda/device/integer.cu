// Elementwise ops of two tensors of integers or truth values that broadcast, besides those of
// binary.cu: kernels OP_DTYPE(a, b, y, n, shape), as FloorDiv_int32. x / 0 and negative powers give
// 0 and set shape.error, which must not be null for ops that may fail.
#include "cuda/device/binary.cuh"
#include "cuda/device/elementwise_ops.h"

namespace towerflow::cuda::device {

#define TOWERFLOW_MAP(op, name, T, U)                                                            \
  TOWERFLOW_KERNEL(op##_##name, 256, const T* a, const T* b, U* y, int64 n, BinaryShape shape) { \
    map_binary<op>(a, b, y, n, shape);                                                           \
  }
#define TOWERFLOW_INT32(op) TOWERFLOW_MAP(op, int32, std::int32_t, std::int32_t)
#define TOWERFLOW_INT64(op) TOWERFLOW_MAP(op, int64, int64, int64)
#define TOWERFLOW_UINT8(op) TOWERFLOW_MAP(op, uint8, std::uint8_t, std::uint8_t)
#define TOWERFLOW_TEST(op) TOWERFLOW_MAP(op, uint8, std::uint8_t, bool)

TOWERFLOW_PARTIAL_INTEGER_OPS(TOWERFLOW_INT32)
TOWERFLOW_PARTIAL_INTEGER_OPS(TOWERFLOW_INT64)
TOWERFLOW_PARTIAL_INTEGER_OPS(TOWERFLOW_UINT8)
TOWERFLOW_INTEGER_BINARY_OPS(TOWERFLOW_UINT8)
TOWERFLOW_COMPARISON_OPS(TOWERFLOW_TEST)
TOWERFLOW_MAP(Equal, bool, bool, bool)
TOWERFLOW_MAP(NotEqual, bool, bool, bool)

}  // namespace towerflow::cuda::device
