// Elementwise ops of two tensors that broadcast: kernels OP_DTYPE(a, b, y, n, shape), as
// AddV2_float32. Comparisons give bool.
#include "cuda/device/binary.cuh"
#include "cuda/device/elementwise_ops.h"

namespace towerflow::cuda::device {

#define TOWERFLOW_MAP(op, name, T, U)                                                            \
  TOWERFLOW_KERNEL(op##_##name, 256, const T* a, const T* b, U* y, int64 n, BinaryShape shape) { \
    map_binary<op>(a, b, y, n, shape);                                                           \
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
  TOWERFLOW_MAP(op, float16, Half, bool)       \
  TOWERFLOW_MAP(op, bfloat16, BFloat16, bool)  \
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
