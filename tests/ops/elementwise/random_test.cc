// Random graphs of elementwise ops: fused and unfused runs give the same bits.
#include <random>
#include <span>

#include "autodiff/gradients.h"
#include "ops/array/cast.h"
#include "ops/array/select.h"
#include "ops/math/add_n.h"
#include "ops/math/binary.h"
#include "ops/math/reduce.h"
#include "ops/math/unary.h"
#include "ops/nn/relu.h"
#include "tests/ops/nn/support.h"
#include "tests/ops/ran.h"
#include "tests/support/random_cases.h"

namespace towerflow {
namespace {

using namespace testing;  // NOLINT

using Unary = Tensor (*)(const Operand&, UnaryOptions, Site);
using Binary = Tensor (*)(const Operand&, const Operand&, BinaryOptions, Site);

const std::vector<Unary> kUnaries = {negative, abs,   square, sqrt,  rsqrt,   reciprocal,
                                     exp,      expm1, log,    log1p, sigmoid, tanh,
                                     sin,      cos,   sign,   floor, ceil,    towerflow::round};
const std::vector<Binary> kBinaries = {add,        subtract, multiply,          truediv,
                                       div_no_nan, maximum,  minimum,           pow,
                                       floordiv,   floormod, squared_difference};
const std::vector<Binary> kComparisons = {equal, not_equal,  greater,
                                          less,  less_equal, greater_equal};

/// The size of random graphs.
struct Size {
  int leaves = 3;  ///< of the full shape, and as many that broadcast to it
  int least_ops = 3, most_ops = 16;
  bool all = false;  ///< whether the last value depends on all others
};

/// A graph drawn from a seed. Each op reads earlier values, mostly the latest ones.
class RandomGraph {
 public:
  RandomGraph(unsigned seed, DType dtype, Size size) : engine_(seed), dtype_(dtype) {
    static const std::vector<Shape> kShapes = {{},     {1},       {7},        {0},     {3, 5},
                                               {4, 0}, {2, 3, 4}, {64, 33},   {1, 17}, {5, 1, 7},
                                               {1025}, {2, 1030}, {260, 257}, {1, 1}};
    full_ = pick(kShapes);
    for (int i = 0; i < size.leaves; ++i) values_.push_back(random_leaf(full_));
    for (int i = 0; i < size.leaves; ++i) values_.push_back(random_leaf(part()));
    const int ops = size.least_ops + random_below(size.most_ops - size.least_ops + 1);
    for (int i = 0; i < ops; ++i) values_.push_back(next());
    if (!size.all) return;
    // A chain of ops reads all values, so that none of them is dropped.
    Tensor all = values_.front();
    for (std::size_t i = 1; i < values_.size(); ++i) {
      all = pick(kBinaries)(values_[i], all, {}, Site::current());
    }
    values_.push_back(all);
  }

  std::vector<Fetch> fetches() {
    std::vector<Fetch> fetches{values_.back()};
    if (random_below(3) == 0) fetches.push_back(values_[values_.size() - 2]);
    return fetches;
  }
  Tensor last() const { return values_.back(); }
  Tensor first() const { return values_.front(); }

 private:
  int random_below(int n) { return static_cast<int>(engine_() % static_cast<unsigned>(n)); }
  template <class T>
  const T& pick(const std::vector<T>& from) {
    return from[static_cast<std::size_t>(random_below(static_cast<int>(from.size())))];
  }

  Tensor random_leaf(const Shape& shape) {
    Array array = random_array<double>(shape, static_cast<unsigned>(engine_()));
    for (double& value : std::span(array.data<double>(), array.flat<double>().size())) value *= 3;
    return tensor_of(dtype_ == DType::float32 ? converted<float, double>(array) : array);
  }

  /// Returns a random shape that broadcasts to `full_`.
  Shape part() {
    std::vector<Dim> dims;
    const auto from = static_cast<std::size_t>(random_below(static_cast<int>(full_.rank()) + 1));
    for (std::size_t i = from; i < full_.rank(); ++i) {
      dims.push_back(random_below(3) == 0 ? Dim(1) : full_[i]);
    }
    return Shape(std::move(dims));
  }

  Tensor value() {
    const int count = static_cast<int>(values_.size());
    return values_[static_cast<std::size_t>(
        random_below(2) ? count - 1 - random_below(std::min(count, 3)) : random_below(count))];
  }

  Tensor next() {
    const Tensor x = value();
    switch (random_below(10)) {
      case 0:
      case 1:
      case 2:
        return pick(kUnaries)(x, {}, Site::current());
      case 3:
        return nn::relu(x);
      case 4:
        return where_v2(pick(kComparisons)(x, value(), {}, Site::current()), x, value());
      case 5:
        return cast(cast(x, dtype_ == DType::float32 ? DType::float64 : DType::float32) * 1.5,
                    dtype_);
      case 6: {
        std::vector<Tensor> same;
        for (const Tensor& y : values_) {
          if (y.shape() == x.shape() && same.size() < 5) same.push_back(y);
        }
        return add_n(same);
      }
      default:
        return pick(kBinaries)(x, value(), {}, Site::current());
    }
  }

  std::mt19937 engine_;
  DType dtype_;
  Shape full_;
  std::vector<Tensor> values_;
};

void check_graph(unsigned seed, DType dtype, bool with_gradient, int& fused_ones, Size size = {}) {
  CAPTURE(seed);
  Graph graph;
  const auto guard = graph.as_default();
  RandomGraph made(seed, dtype, size);
  std::vector<Fetch> fetches = made.fetches();
  if (with_gradient) {
    const auto gradient = gradients(reduce_sum(made.last()), {made.first()});
    if (gradient[0]) fetches.push_back(gradient[0]->dense());
  }
  const RunResult plain = run_with(graph, fetches, only_rewrites());
  const RunResult one = run_with(graph, fetches, only_rewrites("elementwise"));
  PassOptions all;
  all.fold_constants = false;
  const RunResult everything = run_with(graph, fetches, all);
  CHECK(same_bits(one, plain));
  CHECK(same_bits(everything, plain));
  CHECK(one.launches <= plain.launches);
  CHECK(everything.launches <= plain.launches);
  fused_ones += one.count("_Elementwise");
}

TEST_CASE("elementwise: 600 random graphs and their gradients, float32 and float64") {
  int fused_ones = 0;
  for (int seed = 0; seed < random_cases(300); ++seed) {
    check_graph(seed, DType::float32, seed % 2 == 0, fused_ones);
    check_graph(seed + 1000, DType::float64, seed % 2 == 0, fused_ones);
  }
  CHECK(fused_ones > random_cases(500));
}

TEST_CASE("elementwise: 150 random graphs too large for one chain") {
  // More inputs and ops than one chain may have, so chains end in the middle.
  int fused_ones = 0;
  for (int seed = 5000; seed < 5000 + random_cases(150); ++seed) {
    const Size size{.leaves = 12, .least_ops = 30, .most_ops = 90, .all = true};
    check_graph(seed, seed % 2 ? DType::float32 : DType::float64, seed % 3 > 0, fused_ones, size);
  }
  CHECK(fused_ones > random_cases(500));
}

}  // namespace
}  // namespace towerflow
