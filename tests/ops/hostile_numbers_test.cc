// Absurd sizes, axes, indices and counts must give an error of ours or a result, while the graph is
// built and, if they are fed, while it runs. Sanitizers check for overflows, divisions by zero and
// reads out of bounds along the way.
#include <doctest/doctest.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "towerflow/tf.h"

using namespace towerflow;

namespace {

constexpr std::int64_t kSmallest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kNumbers[] = {kSmallest,
                                     kSmallest + 1,
                                     -(1LL << 32),
                                     -(1LL << 31) - 1,
                                     -(1LL << 31),
                                     -3,
                                     -1,
                                     0,
                                     1,
                                     2,
                                     (1LL << 31) - 1,
                                     1LL << 31,
                                     (1LL << 32),
                                     1LL << 62,
                                     kLargest,
                                     kLargest - 1};

/// Returns whether a run is cheap: the number is small, or so large that it is refused at once.
bool is_cheap_to_run(std::int64_t number) { return number <= 4 || number >= std::int64_t{1} << 61; }

using Results = std::vector<Tensor>;

/// A call on x, a [2, 3] float tensor, and a number.
struct Call {
  const char* name;
  std::function<Results(const Tensor& x, const Tensor& number)> build;
};

Tensor ints(const Tensor& x) { return tf::cast(x, tf::int32); }

std::vector<Call> calls() {
  const auto both = [](const Tensor& n) { return tf::stack({n, n}); };
  return {
      {"fill", [=](auto&, auto& n) { return Results{tf::fill(both(n), 1.0F)}; }},
      {"fill, one size", [](auto&, auto& n) { return Results{tf::fill(tf::stack({n}), 1)}; }},
      {"reshape", [=](auto& x, auto& n) { return Results{tf::reshape(x, both(n))}; }},
      {"reshape, one size",
       [](auto& x, auto& n) { return Results{tf::reshape(x, tf::stack({n}))}; }},
      {"broadcast_to", [=](auto& x, auto& n) { return Results{tf::broadcast_to(x, both(n))}; }},
      {"tile", [=](auto& x, auto& n) { return Results{tf::tile(x, both(n))}; }},
      {"slice, begin",
       [=](auto& x, auto& n) { return Results{tf::slice(x, both(n), tf::ones_like(both(n)))}; }},
      {"slice, size",
       [=](auto& x, auto& n) { return Results{tf::slice(x, tf::ones_like(both(n)), both(n))}; }},
      {"slice, both", [=](auto& x, auto& n) { return Results{tf::slice(x, both(n), both(n))}; }},
      {"strided_slice, begin",
       [=](auto& x, auto& n) {
         return Results{tf::strided_slice(x, both(n), tf::ones_like(both(n)))};
       }},
      {"strided_slice, end",
       [=](auto& x, auto& n) {
         return Results{tf::strided_slice(x, tf::zeros_like(both(n)), both(n))};
       }},
      {"strided_slice, strides",
       [=](auto& x, auto& n) {
         return Results{tf::strided_slice(x, tf::zeros_like(both(n)), both(n), both(n))};
       }},
      {"pad",
       [=](auto& x, auto& n) {
         return Results{tf::pad(x, tf::stack({both(n), both(n)}))};
       }},
      {"pad, reflect",
       [=](auto& x, auto& n) {
         return Results{tf::pad(x, tf::stack({both(n), both(n)}), "REFLECT")};
       }},
      {"concat",
       [](auto& x, auto& n) {
         return Results{tf::concat({x, x}, n)};
       }},
      {"split", [](auto& x, auto& n) { return tf::split(x, 3, n); }},
      {"split, sizes", [=](auto& x, auto& n) { return tf::split(x, both(n), 1); }},
      {"expand_dims", [](auto& x, auto& n) { return Results{tf::expand_dims(x, n)}; }},
      {"transpose", [=](auto& x, auto& n) { return Results{tf::transpose(x, both(n))}; }},
      {"gather", [](auto& x, auto& n) { return Results{tf::gather(x, n)}; }},
      {"gather, columns", [](auto& x, auto& n) { return Results{tf::gather(x, n, {.axis = 1})}; }},
      {"one_hot", [](auto& x, auto& n) { return Results{tf::one_hot(ints(x), n)}; }},
      {"one_hot, index", [=](auto&, auto& n) { return Results{tf::one_hot(both(n), 3)}; }},
      {"range", [](auto&, auto& n) { return Results{tf::range(n)}; }},
      {"range, down", [](auto&, auto& n) { return Results{tf::range(n, 0, -1)}; }},
      {"range, delta", [](auto&, auto& n) { return Results{tf::range(0, 10, n)}; }},
      {"argmax", [](auto& x, auto& n) { return Results{tf::argmax(x, n)}; }},
      {"cumsum", [](auto& x, auto& n) { return Results{tf::cumsum(x, n)}; }},
      {"reduce_sum", [](auto& x, auto& n) { return Results{tf::reduce_sum(x, n)}; }},
      {"reduce_prod", [](auto& x, auto& n) { return Results{tf::reduce_prod(x, n)}; }},
      {"reduce_max, axes", [=](auto& x, auto& n) { return Results{tf::reduce_max(x, both(n))}; }},
      {"unsorted_segment_sum, ids",
       [=](auto& x, auto& n) { return Results{tf::unsorted_segment_sum(x, both(n), 3)}; }},
      {"unsorted_segment_sum, count",
       [](auto& x, auto& n) {
         return Results{tf::unsorted_segment_sum(x, tf::constant({0, 1}), n)};
       }},
      {"random_uniform", [=](auto&, auto& n) { return Results{tf::random_uniform(both(n))}; }},
      {"truncated_normal",
       [](auto&, auto& n) { return Results{tf::truncated_normal(tf::stack({n}))}; }},
      {"random_uniform, limits",
       [](auto&, auto& n) {
         return Results{tf::random_uniform({2}, {.minval = 0, .maxval = n, .dtype = tf::int64})};
       }},
      {"in_top_k",
       [](auto& x, auto& n) {
         return Results{tf::nn::in_top_k(x, tf::constant({0, 1}), n)};
       }},
      {"in_top_k, targets",
       [=](auto& x, auto& n) { return Results{tf::nn::in_top_k(x, both(n), 1)}; }},
      {"sparse_softmax_cross_entropy",
       [=](auto& x, auto& n) {
         return Results{
             tf::nn::sparse_softmax_cross_entropy_with_logits({.labels = both(n), .logits = x})};
       }},
      {"conv2d_transpose",
       [](auto& x, auto& n) {
         return Results{tf::nn::conv2d_transpose(tf::reshape(x, {1, 2, 3, 1}),
                                                 tf::ones({2, 2, 1, 1}), tf::stack({n, n, n, n}),
                                                 {1, 1, 1, 1})};
       }},
      {"arithmetic",
       [](auto&, auto& n) {
         const Tensor one = tf::cast(1, n.dtype());
         return Results{n + one,
                        n - one,
                        n * n,
                        tf::floordiv(n, -one),
                        tf::floormod(n, -one),
                        -n,
                        tf::abs(n),
                        tf::square(n),
                        tf::pow(n, one + one),
                        tf::squared_difference(n, one)};
       }},
      {"sums",
       [=](auto&, auto& n) {
         return Results{tf::reduce_sum(both(n)), tf::reduce_prod(both(n)), tf::reduce_mean(both(n)),
                        tf::cumsum(both(n)), tf::add_n({n, n})};
       }},
  };
}

/// Returns the calls whose number is an argument in C++ instead of a tensor.
std::vector<Call> calls_of_ints() {
  struct Written {
    const char* name;
    std::function<Results(const Tensor& x, int n)> build;
  };
  const std::vector<Written> written = {
      {"stack",
       [](auto& x, int n) {
         return Results{tf::stack({x, x}, n)};
       }},
      {"unstack", [](auto& x, int n) { return tf::unstack(x, {.axis = n}); }},
      {"unstack, count", [](auto& x, int n) { return tf::unstack(x, n); }},
      {"squeeze", [](auto& x, int n) { return Results{tf::squeeze(x, {.axis = {n}})}; }},
      {"moments", [](auto& x, int n) { return Results{tf::nn::moments(x, {n}).mean}; }},
      {"max_pool, window",
       [](auto& x, int n) {
         return Results{
             tf::nn::max_pool(tf::reshape(x, {1, 2, 3, 1}), {1, n, n, 1}, {1, 1, 1, 1}, "SAME")};
       }},
      {"avg_pool, strides",
       [](auto& x, int n) {
         return Results{
             tf::nn::avg_pool(tf::reshape(x, {1, 2, 3, 1}), {1, 2, 2, 1}, {1, n, n, 1}, "VALID")};
       }},
      {"conv2d, strides",
       [](auto& x, int n) {
         return Results{tf::nn::conv2d(tf::reshape(x, {1, 2, 3, 1}), tf::ones({2, 2, 1, 1}),
                                       {1, n, n, 1}, "SAME")};
       }},
      {"l2_normalize", [](auto& x, int n) { return Results{tf::nn::l2_normalize(x, n)}; }},
      {"index", [](auto& x, int n) { return Results{tf::take_index(x, n)}; }},
  };
  std::vector<Call> made;
  for (const Written& call : written) {
    made.push_back({call.name, [call](const Tensor& x, const Tensor& n) {
                      return call.build(x,
                                        static_cast<int>(constant_value(n).item<std::int64_t>()));
                    }});
  }
  return made;
}

struct Counts {
  int built = 0, refused = 0, ran = 0, failed = 0;
};

/// Appends the dense gradients of floating-point results, where they have one.
Results with_gradient(Results results, const Tensor& x) {
  for (const Tensor& y : Results(results)) {
    if (!is_floating(y.dtype())) continue;
    const OptionalGradient dx = tf::gradients(y, x)[0];
    if (dx.has_value() && dx->is_dense()) results.push_back(dx->dense());
  }
  return results;
}

void call_with_number(const Call& call, std::int64_t number, bool fed, DType dtype,
                      Counts& counts) {
  Graph graph;
  const auto guard = graph.as_default();
  const Array value = cast_elements(Array::scalar(number), dtype);
  const Array floats = Array::of<float>({2, 3}, {1, 2, 0.5F, -1, 0, 3});
  const Tensor x = fed ? tf::placeholder(tf::float32) : tf::constant(floats);
  const Tensor n = fed ? tf::placeholder(dtype, {}) : tf::constant(value);
  Feeds feeds;
  if (fed) feeds = {{x, floats}, {n, value}};
  Results results;
  try {
    results = with_gradient(call.build(x, n), x);
    ++counts.built;
  } catch (const errors::InternalError&) {
    throw;
  } catch (const Error&) {
    ++counts.refused;
    return;
  }
  if (!is_cheap_to_run(number)) return;
  Session session(graph, {.intra_op_parallelism_threads = 1});
  for (const Tensor& result : results) {
    try {
      session.run(result, feeds);
      ++counts.ran;
    } catch (const errors::InternalError&) {
      throw;
    } catch (const Error&) {
      ++counts.failed;
    }
  }
}

}  // namespace

TEST_CASE("absurd numbers end in an error or in a result") {
  Counts counts;
  for (const DType dtype : {DType::int64, DType::int32}) {
    for (const std::int64_t number : kNumbers) {
      if (dtype == DType::int32 && number != static_cast<std::int32_t>(number)) continue;
      CAPTURE(number);
      for (const Call& call : calls()) {
        CAPTURE(call.name);
        for (const bool fed : {false, true}) {
          CHECK_NOTHROW(call_with_number(call, number, fed, dtype, counts));
        }
      }
      if (number != static_cast<std::int32_t>(number)) continue;
      for (const Call& call : calls_of_ints()) {
        CAPTURE(call.name);
        CHECK_NOTHROW(call_with_number(call, number, false, DType::int64, counts));
      }
    }
  }
  MESSAGE(counts.built << " built, " << counts.refused << " refused, " << counts.ran << " ran, "
                       << counts.failed << " failed");
  CHECK(counts.built > 300);
  CHECK(counts.refused > 300);
  CHECK(counts.ran > 300);
  CHECK(counts.failed > 100);
}
