// The loops of one instruction set. meson.build compiles this file once for each set, with the
// set's name in SIMD_LEVEL.
#include "ops/simd/level/angles.h"
#include "ops/simd/level/binary_functions.h"
#include "ops/simd/level/choices.h"
#include "ops/simd/level/elementwise.h"
#include "ops/simd/level/functions.h"
#include "ops/simd/level/more_functions.h"
#include "ops/simd/level/normalization.h"
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
#define SIMD_BINARIES(loop)                                                                    \
  {                                                                                            \
    loop<AddOf>, loop<SubOf>, loop<MulOf>, loop<DivOf>, loop<MaximumOf>, loop<MinimumOf>,      \
        loop<DivNoNanOf>, loop<FloorDivOf>, loop<TruncateDivOf>, loop<XdivyOf>, loop<XlogyOf>, \
        loop<Xlog1pyOf>, loop<Atan2Of>                                                         \
  }

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
    .neg = unary_loop<NegOf>,
    .abs = function_loop<abs_of>,
    .square = unary_loop<SquareOf>,
    .sqrt = unary_loop<SqrtOf>,
    .rsqrt = unary_loop<RsqrtOf>,
    .sign = function_loop<sign_of>,
    .floor = unary_loop<FloorOf>,
    .ceil = unary_loop<CeilOf>,
    .round = unary_loop<RoundOf>,
    .relu6 = function_loop<relu6_of>,
    .exp = function_loop<exp_of>,
    .expm1 = function_loop<expm1_of>,
    .log = function_loop<log_of>,
    .log1p = function_loop<log1p_of>,
    .sigmoid = function_loop<sigmoid_of>,
    .tanh = function_loop<tanh_of>,
    .softplus = function_loop<softplus_of>,
    .elu = function_loop<elu_of>,
    .selu = function_loop<selu_of>,
    .sin = sine_loop<0>,
    .cos = sine_loop<1>,
    .tan = sine_loop<kTangent>,
    .asin = function_loop<asin_of>,
    .acos = function_loop<acos_of>,
    .atan = function_loop<atan_of>,
    .sinh = function_loop<sinh_of>,
    .cosh = function_loop<cosh_of>,
    .asinh = function_loop<asinh_of>,
    .acosh = function_loop<acosh_of>,
    .atanh = function_loop<atanh_of>,
    .erf = function_loop<erf_of>,
    .erfc = function_loop<erfc_of>,
    .relu_grad = binary_loop<ReluGradOf>,
    .cast = {SIMD_CASTS(std::uint8_t), SIMD_CASTS(std::int32_t), SIMD_CASTS(std::int64_t),
             SIMD_CASTS(float), SIMD_CASTS(double)},
    .fill = fill_loop,
    .sum_arrays = sum_arrays_loop,
    .sum = sum_loop<false>,
    .sum_squares = sum_loop<true>,
    .max = max_loop,
    .min = min_loop,
    .window_sums = window_sums_loop,
    .select = select_loop<false, false>,
    .select_one_left = select_loop<true, false>,
    .select_one_right = select_loop<false, true>,
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
               {update_loop<CenteredRmsPropRule<float>>},
               {update_loop<AdadeltaRule<float>>},
               {update_loop<AdagradDualAveragingRule<float>>},
               {update_loop<FtrlRule<float>>},
               {update_loop<FtrlShrinkageRule<float>>},
               {update_loop<ProximalGradientDescentRule<float>>},
               {update_loop<ProximalAdagradRule<float>>}},
    .gradient_sum = gradient_sum_loop,
    .normalization = {moments_loop, normalize_loop, gradient_sums_loop,
                      normalization_gradient_loop},
#if defined(__FMA__)
    .winograd = {true, filter_at_points_loop, convolve_loop, filter_gradient_loop,
                 filter_from_points_loop},
#else
    .winograd = {},
#endif
    .softmax = rows_loop<softmax_row<false>>,
    .log_softmax = rows_loop<softmax_row<true>>,
    .softmax_xent = softmax_xent_loop,
    .transpose = transpose_loop,
};

}  // namespace towerflow::simd
