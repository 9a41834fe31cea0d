// float16 and bfloat16: conversions, TensorFlow's random numbers, batch normalisation, variables
// and optimizers, and which ops take them.
#include "core/graph/short_float.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <sstream>

#include "autodiff/gradients.h"
#include "core/graph/scopes.h"
#include "core/runtime/session.h"
#include "ops/array/cast.h"
#include "ops/array/constant.h"
#include "ops/data_flow/assert.h"
#include "ops/math/binary.h"
#include "ops/math/matmul.h"
#include "ops/math/reduce.h"
#include "ops/math/saturate_cast.h"
#include "ops/math/unary.h"
#include "ops/nn/fused_batch_norm.h"
#include "ops/random/random_ops.h"
#include "ops/variables/initialization.h"
#include "ops/variables/variable_scope.h"
#include "train/optimizer.h"

using namespace towerflow;

namespace {

/// The nearest number with `bits` significant bits and the exponents of a short dtype, by
/// arithmetic in double. Infinite above `largest` by half a unit or more.
double rounded(double x, int bits, int lowest_exponent, double largest) {
  if (x == 0 || !std::isfinite(x)) return x;
  const int exponent = std::max(std::ilogb(x), lowest_exponent);
  const double unit = std::ldexp(1.0, exponent - bits + 1);
  const double near = std::nearbyint(x / unit) * unit;
  return std::abs(near) > largest ? std::copysign(HUGE_VAL, x) : near;
}

std::vector<float> floats(const Array& array) {
  const Array wide = is_short_float(array.dtype()) ? widened(array) : array;
  return {wide.data<float>(), wide.data<float>() + wide.elements()};
}

}  // namespace

TEST_CASE("every short number is itself after a round trip") {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto given = static_cast<std::uint16_t>(bits);
    const float half = float16_to_float(given), brain = bfloat16_to_float(given);
    if (std::isnan(half)) {
      CHECK(std::isnan(float16_to_float(float_to_float16(half))));
    } else if (float_to_float16(half) != given) {
      FAIL_CHECK("float16 ", bits);
    }
    if (std::isnan(brain)) {
      CHECK(std::isnan(bfloat16_to_float(float_to_bfloat16(brain))));
    } else if (float_to_bfloat16(brain) != given) {
      FAIL_CHECK("bfloat16 ", bits);
    }
  }
}

TEST_CASE("floats become the nearest short number, ties the even one") {
  int checked = 0;
  for (std::uint64_t bits = 0; bits < 0x100000000ULL; bits += 4093) {
    for (const std::uint32_t low : {0U, 0xFFFU, 0x1000U, 0x1001U, 0x7FFFU, 0x8000U, 0x8001U}) {
      const auto x = std::bit_cast<float>(static_cast<std::uint32_t>(bits & 0xFFFF0000U) | low);
      if (std::isnan(x) || std::fpclassify(x) == FP_SUBNORMAL) continue;
      const double half = rounded(static_cast<double>(x), 11, -14, 65504);
      const double brain = rounded(static_cast<double>(x), 8, -126, 0x1.FEp127);
      if (static_cast<double>(float16_to_float(float_to_float16(x))) != half) FAIL_CHECK(x);
      if (static_cast<double>(bfloat16_to_float(float_to_bfloat16(x))) != brain) FAIL_CHECK(x);
      ++checked;
    }
  }
  CHECK(checked > 1000000);
}

TEST_CASE("random numbers in short dtypes are TensorFlow's") {
  const auto draw = [](DType dtype, auto function) {
    Graph graph;
    const auto guard = graph.as_default();
    set_random_seed(1);
    const Tensor drawn = function(dtype);
    Session session;
    return floats(session.run(drawn));
  };
  const auto uniform = [](DType dtype) { return random_uniform({7}, {.dtype = dtype, .seed = 5}); };
  const auto normal = [](DType dtype) { return random_normal({7}, {.dtype = dtype, .seed = 5}); };
  const auto truncated = [](DType dtype) {
    return truncated_normal({7}, {.dtype = dtype, .seed = 5});
  };
  using Floats = std::vector<float>;
  CHECK(draw(float16, uniform) == Floats{0.404296875F, 0.6201171875F, 0.513671875F, 0.380859375F,
                                         0.9345703125F, 0.37890625F, 0.939453125F});
  CHECK(draw(bfloat16, uniform) ==
        Floats{0.234375F, 0.9609375F, 0.109375F, 0.046875F, 0.4765625F, 0.03125F, 0.515625F});
  CHECK(draw(float16, normal) == Floats{0.3369140625F, 1.7744140625F, 1.4189453125F,
                                        -0.054840087890625F, -0.48583984375F, -0.48779296875F,
                                        -1.7548828125F});
  CHECK(draw(bfloat16, normal) == Floats{0.337890625F, 1.7734375F, 1.421875F, -0.054931640625F,
                                         -0.486328125F, -0.48828125F, -1.7578125F});
  CHECK(draw(float16, truncated) == Floats{0.3369140625F, 1.7744140625F, 1.4189453125F,
                                           -0.054840087890625F, -0.0209503173828125F,
                                           0.352783203125F, 1.99609375F});
  CHECK(draw(bfloat16, truncated) == Floats{0.337890625F, 1.7734375F, 1.421875F, -0.054931640625F,
                                            -0.02099609375F, 0.353515625F, 1.9921875F});
}

TEST_CASE("casts and limits are TensorFlow's") {
  Graph graph;
  const auto guard = graph.as_default();
  Session session;
  const auto get = [&](const Tensor& x) { return floats(session.run(cast(x, float32))); };
  using Floats = std::vector<float>;
  CHECK(get(cast(constant({70000.0F, 1e-7F, 2049.0F}), float16)) ==
        Floats{INFINITY, 1.1920928955078125e-07F, 2048.0F});
  CHECK(get(cast(constant({16777217, -3}), bfloat16)) == Floats{16777216.0F, -3.0F});
  CHECK(session.run(saturate_cast(constant({300.0, -5.0, 3.7}, {.dtype = float16}), uint8)) ==
        Array::of(Shape{3}, std::vector<std::uint8_t>{255, 0, 3}));
  CHECK(get(saturate_cast(constant({1e6F, -1e6F, 2.0F}), float16)) ==
        Floats{65504.0F, -65504.0F, 2.0F});
}

TEST_CASE("batch normalisation of short images keeps its statistics in float32") {
  for (const DType dtype : {DType::float16, DType::bfloat16}) {
    Graph graph;
    const auto guard = graph.as_default();
    const Tensor wide = constant({0.5F, -1.0F, 2.0F, 0.25F, 1.5F, -0.75F, 1.0F, 3.0F},
                                 {.shape = Shape{2, 2, 1, 2}});
    const Tensor scale = constant({1.5F, 0.5F}), offset = constant({0.25F, -1.0F});
    const Tensor weights = constant({1.0F, 0.5F, -0.25F, 2.0F, 0.75F, -1.0F, 1.25F, 0.125F},
                                    {.shape = Shape{2, 2, 1, 2}});
    std::vector<Tensor> results;
    for (const Tensor& x : {cast(wide, dtype), wide}) {
      const auto found = nn::fused_batch_norm(x, scale, offset);
      const Tensor loss = reduce_sum(cast(found.y, float32) * weights);
      const auto grads = gradients({loss}, {x, scale, offset});
      results.insert(results.end(), {found.y, found.running_mean, found.running_var});
      for (const auto& grad : grads) results.push_back(grad->dense());
    }
    Session session;
    const std::vector<Array> all = session.run(std::vector<Fetch>(results.begin(), results.end()));
    CHECK(all[0].dtype() == dtype);
    CHECK(all[1].dtype() == DType::float32);
    CHECK(all[3].dtype() == dtype);
    for (std::size_t i = 0; i < 6; ++i) {
      const auto small = floats(all[i]), expected = floats(all[i + 6]);
      for (std::size_t k = 0; k < small.size(); ++k) {
        CHECK(small[k] ==
              doctest::Approx(expected[k]).epsilon(dtype == DType::float16 ? 4e-3 : 3e-2));
      }
    }
  }
}

TEST_CASE("a variable in float16 is trained in float16") {
  Graph graph;
  const auto guard = graph.as_default();
  const Variable w = get_variable("w", Shape{3, 2}, {.dtype = float16});
  const Tensor loss =
      reduce_sum(matmul(constant(Array::zeros(float32, {2, 3}), {.dtype = float16}) + 0.5, w));
  CHECK(loss.dtype() == DType::float16);
  train::MomentumOptimizer opt(0.25, 0.5);
  const Operation step = opt.minimize(loss);
  Session session;
  session.run(global_variables_initializer());
  const auto before = floats(session.run(w));
  session.run(step);
  session.run(step);
  const auto after = floats(session.run(w));
  CHECK(session.run(*opt.get_slot(w, "momentum")).dtype() == DType::float16);
  for (std::size_t i = 0; i < after.size(); ++i) {
    const double first = rounded(static_cast<double>(before[i]) - 0.25, 11, -14, 65504);
    CHECK(static_cast<double>(after[i]) == rounded(first - 0.375, 11, -14, 65504));
  }
}

TEST_CASE("the logarithm of the gamma function, whose second derivative takes no short numbers") {
  Graph graph;
  const auto guard = graph.as_default();
  Session session;
  const Tensor found = cast(lgamma(constant({4.0}, {.dtype = float16})), float32);
  CHECK(session.run(found) == Array::of(Shape{1}, std::vector<float>{1.7919921875F}));
}

TEST_CASE("short numbers are printed with the digits that tell them apart") {
  const auto text = [](DType dtype, const std::vector<float>& numbers) {
    std::ostringstream out;
    const auto size = static_cast<std::int64_t>(numbers.size());
    const Array array = narrowed(Array::of(Shape{size}, numbers), dtype);
    out << array << " " << array.text();
    return out.str();
  };
  CHECK(text(float16, {0.1F, 7.5F}) == "[0.1 7.5] float16 (2,) [0.1, 7.5]");
  CHECK(text(bfloat16, {1.0F / 3, -INFINITY}) == "[0.334  -inf] bfloat16 (2,) [0.334, -inf]");
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = constant({0.1, 3.0}, {.dtype = float16});
  Session session;
  CHECK_THROWS_WITH_AS(session.run(Assert(constant(false), {x})),
                       doctest::Contains("[0.0999755859 3]"), errors::InvalidArgumentError);
}

TEST_CASE("ops do not mix short dtypes with others") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor half = constant({1.0}, {.dtype = float16}), wide = constant({1.0F});
  CHECK_THROWS_WITH_AS(half + wide, doctest::Contains("float16"), TypeError);
  CHECK_THROWS_AS(half * cast(wide, bfloat16), TypeError);
  CHECK((half + 1).dtype() == DType::float16);
}
