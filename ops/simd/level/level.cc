// The loops of one instruction set; meson.build compiles this file once for each of them, with the
// name of the set in SIMD_LEVEL.
#include "ops/simd/level/elementwise.h"
#include "ops/simd/level/pool.h"
#include "ops/simd/level/softmax.h"
#include "ops/simd/level/sums.h"
#include "ops/simd/level/update.h"
#if defined(__FMA__)
#include "ops/simd/level/winograd.h"
#endif

#define SIMD_JOIN_(a, b) a##b
#define SIMD_JOIN(a, b) SIMD_JOIN_(a, b)
#define SIMD_TABLE SIMD_JOIN(kLoops_, SIMD_LEVEL)
#define SIMD_CASTS(From)                                                                         \
  {                                                                                              \
    cast_loop<From, std::uint8_t>, cast_loop<From, std::int32_t>, cast_loop<From, std::int64_t>, \
        cast_loop<From, float>, cast_loop<From, double>                                          \
  }
#define SIMD_BINARIES(loop) \
  { loop<AddOf>, loop<SubOf>, loop<MulOf>, loop<DivOf>, loop<MaximumOf>, loop<MinimumOf> }

namespace towerflow::simd {

extern const Loops SIMD_TABLE;
const Loops SIMD_TABLE = {
    .level = Level::SIMD_LEVEL,
    .binary = SIMD_BINARIES(binary_loop),
    .binary_scalar_right = SIMD_BINARIES(scalar_right_loop),
    .binary_scalar_left = SIMD_BINARIES(scalar_left_loop),
    .binary_row_right = SIMD_BINARIES(row_right_loop),
    .binary_row_left = SIMD_BINARIES(row_left_loop),
    .add_row_relu = row_right_loop<AddReluOf>,
    .relu = relu_loop,
    .neg = neg_loop,
    .square = square_loop,
    .relu_grad = binary_loop<ReluGradOf>,
    .cast = {SIMD_CASTS(std::uint8_t), SIMD_CASTS(std::int32_t), SIMD_CASTS(std::int64_t),
             SIMD_CASTS(float), SIMD_CASTS(double)},
    .fill = fill_loop,
    .sum_arrays = sum_arrays_loop,
    .sum = sum_loop<false>,
    .sum_squares = sum_loop<true>,
    .column_sums_begin = column_sums_begin,
    .column_sums_add = column_sums_add,
    .column_sums_end = column_sums_end,
    .max_pool = max_pool_loop,
    .max_pool_grad = max_pool_grad_loop,
    .update = {{update_loop<AddRule<float>>},
               {update_loop<SubtractRule<float>>},
               {update_loop<MovingAverageRule<float>>},
               {update_loop<GradientDescentRule<float>>},
               {update_loop<MomentumRule<float>>},
               {update_loop<NesterovRule<float>>},
               {update_loop<AdamRule<float>>},
               {update_loop<AdagradRule<float>>},
               {update_loop<RmsPropRule<float>>},
               {update_loop<CenteredRmsPropRule<float>>}},
    .gradient_sum = gradient_sum_loop,
#if defined(__FMA__)
    .winograd = {true, filter_at_points_loop, convolve_loop, filter_gradient_loop,
                 filter_from_points_loop},
#else
    .winograd = {},
#endif
    .softmax_xent = softmax_xent_loop,
    .exp = exp_loop,
    .transpose = transpose_loop,
};

}  // namespace towerflow::simd
