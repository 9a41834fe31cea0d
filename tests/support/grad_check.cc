#include "tests/support/grad_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "autodiff/gradients.h"
#include "core/runtime/session.h"
#include "ops/array/constant.h"
#include "ops/array/indexed_slices.h"
#include "ops/array/placeholder.h"
#include "ops/math/add_n.h"
#include "ops/math/binary.h"
#include "ops/math/reduce.h"

namespace towerflow::testing {
namespace {

/// A function built into a new graph, with placeholders for xs.
class Built {
 public:
  Built(const Function& function, const std::vector<Array>& xs, const GradCheckOptions& options)
      : guard_(graph_.as_default()), session_(graph_) {
    for (const Array& x : xs) {
      const Shape shape = options.unknown_shapes ? Shape::of_rank(x.shape().rank()) : x.shape();
      inputs_.push_back(placeholder(DType::float64, {.shape = shape}));
    }
    y_ = function(inputs_);
    const Array value = session_.run(y_, feeds(xs));
    seed_ = random_doubles(value.shape(), options.seed);
    if (value.dtype() == DType::float64) {
      gradients_ = gradients(y_, inputs_, {.grad_ys = {constant(seed_)}});
    }
  }

  bool floating() const { return y_.dtype() == DType::float64; }
  const std::vector<OptionalGradient>& all() const { return gradients_; }

  Array gradient(std::size_t i, const std::vector<Array>& xs) {
    return session_.run(convert_to_tensor(*gradients_[i]), feeds(xs));
  }

  /// Returns the sum of y weighted by its gradient, the scalar whose derivatives are checked.
  double weighted(const std::vector<Array>& xs) {
    const Array value = session_.run(y_, feeds(xs));
    const auto terms = value.flat<double>();
    return std::inner_product(terms.begin(), terms.end(), seed_.data<double>(), 0.0);
  }

 private:
  Feeds feeds(const std::vector<Array>& xs) const {
    Feeds all;
    for (std::size_t i = 0; i < xs.size(); ++i) all.emplace_back(inputs_[i], xs[i]);
    return all;
  }

  Graph graph_;
  DefaultGraphGuard guard_;
  Session session_;
  std::vector<Tensor> inputs_;
  Tensor y_;
  Array seed_;
  std::vector<OptionalGradient> gradients_;
};

double norm(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return std::sqrt(sum);
}

/// Returns the central differences with respect to the elements of xs[index].
std::vector<double> differences(Built& built, std::vector<Array> xs, std::size_t index,
                                double step) {
  std::vector<double> slopes;
  xs[index] = xs[index].copy();
  double* x = xs[index].data<double>();
  for (std::int64_t i = 0; i < xs[index].elements(); ++i) {
    const double at = x[i];
    const double h = step * std::max(1.0, std::abs(at));
    x[i] = at + h;
    const double above = built.weighted(xs);
    x[i] = at - h;
    const double below = built.weighted(xs);
    x[i] = at;
    slopes.push_back((above - below) / (2 * h));
  }
  return slopes;
}

}  // namespace

std::string grad_check(const Function& function, const std::vector<Array>& xs,
                       GradCheckOptions options) {
  Built built(function, xs, options);
  if (!built.floating()) return "the function does not give float64";
  for (std::size_t k = 0; k < xs.size(); ++k) {
    if (!built.all()[k]) return fmt::format("x {}: no gradient", k);
    const Array found = built.gradient(k, xs);
    if (found.shape() != xs[k].shape()) {
      return fmt::format("x {}: gradient of shape {}", k, found.shape().text());
    }
    const std::vector<double> wanted = differences(built, xs, k, options.step);
    std::vector<double> difference;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      difference.push_back(found.data<double>()[i] - wanted[i]);
    }
    // The differences have rounding errors of about 1e-16 / step relative to y.
    const double floor = 1e-4;
    const double error = norm(difference) / std::max(norm(wanted), floor);
    if (!(error <= options.tolerance)) {  // also true for NaN
      return fmt::format("x {}: off by {:g} of {:g}", k, norm(difference), norm(wanted));
    }
  }
  return "";
}

Function weighted_gradients(const Function& function, const std::vector<Array>& xs, unsigned seed) {
  return [function, xs, seed](const std::vector<Tensor>& inputs) {
    const Tensor y = function(inputs);
    const auto first = gradients(y, inputs);
    std::vector<Tensor> parts;
    for (std::size_t k = 0; k < first.size(); ++k) {
      const Array weight = random_doubles(xs[k].shape(), seed + 100);
      parts.push_back(reduce_sum(multiply(convert_to_tensor(first[k].value()), constant(weight))));
    }
    return add_n(parts, {.name = "weighted"});
  };
}

std::string second_grad_check(const Function& function, const std::vector<Array>& xs,
                              GradCheckOptions options) {
  return grad_check(weighted_gradients(function, xs, options.seed), xs, options);
}

Array random_between(const Shape& shape, double low, double high, unsigned seed) {
  std::mt19937 engine(seed);
  Array array(DType::float64, shape);
  std::generate_n(array.data<double>(), array.elements(), [&] {
    return low + (high - low) * (static_cast<double>(engine()) / 4294967296.0);
  });
  return array;
}

Array random_doubles(const Shape& shape, unsigned seed) {
  return random_between(shape, -1, 1, seed);
}

}  // namespace towerflow::testing
