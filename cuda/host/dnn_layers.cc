#include "cuda/host/dnn_layers.h"

#include <algorithm>
#include <cmath>

namespace towerflow::cuda::host {
namespace {

/// The values of an array in which channels are last, as rows of `size` values.
class Rows {
 public:
  Rows(const DnnArray& array, bool whole_example) {
    const auto count = static_cast<std::int64_t>(array.values.size());
    size_ = whole_example ? count / array.dims[0] : array.dims[1];
    count_ = count / size_;
  }

  std::int64_t size() const { return size_; }

  template <typename F>
  void for_each(const F& f) const {
    for (std::int64_t row = 0; row < count_; ++row) f(row * size_);
  }

 private:
  std::int64_t size_ = 1, count_ = 0;
};

/// Channels before and after a channel that are in its window; an even window has one more after.
struct Window {
  explicit Window(unsigned n) : before((static_cast<std::int64_t>(n) - 1) / 2), after(n / 2) {}
  std::int64_t before, after;
};

/// The sum in the denominator, for each value.
DnnArray denominators(const DnnLrn& lrn, const DnnArray& x) {
  DnnArray sums(x.dims);
  const Rows rows(x, false);
  const Window window(lrn.n);
  rows.for_each([&](std::int64_t at) {
    for (std::int64_t c = 0; c < rows.size(); ++c) {
      double sum = 0;
      const std::int64_t last = std::min(rows.size() - 1, c + window.after);
      for (std::int64_t i = std::max<std::int64_t>(0, c - window.before); i <= last; ++i) {
        const double value = x.values[static_cast<std::size_t>(at + i)];
        sum += value * value;
      }
      sums.values[static_cast<std::size_t>(at + c)] = lrn.k + lrn.alpha / lrn.n * sum;
    }
  });
  return sums;
}

}  // namespace

DnnArray normalize(const DnnLrn& lrn, const DnnArray& x) {
  DnnArray y = denominators(lrn, x);
  for (std::size_t i = 0; i < y.values.size(); ++i) {
    y.values[i] = x.values[i] * std::pow(y.values[i], -lrn.beta);
  }
  return y;
}

DnnArray normalize_gradient(const DnnLrn& lrn, const DnnArray& x, const DnnArray& y,
                            const DnnArray& dy) {
  const DnnArray sums = denominators(lrn, x);
  DnnArray dx(x.dims);
  const Rows rows(x, false);
  const Window window(lrn.n);
  rows.for_each([&](std::int64_t at) {
    for (std::int64_t c = 0; c < rows.size(); ++c) {
      const auto here = static_cast<std::size_t>(at + c);
      // The channels in whose windows this one is.
      double sum = 0;
      const std::int64_t last = std::min(rows.size() - 1, c + window.before);
      for (std::int64_t i = std::max<std::int64_t>(0, c - window.after); i <= last; ++i) {
        const auto there = static_cast<std::size_t>(at + i);
        sum += dy.values[there] * y.values[there] / sums.values[there];
      }
      dx.values[here] = dy.values[here] * std::pow(sums.values[here], -lrn.beta) -
                        2 * lrn.alpha / lrn.n * lrn.beta * x.values[here] * sum;
    }
  });
  return dx;
}

DnnArray softmax(const DnnSoftmax& how, const DnnArray& x) {
  DnnArray y(x.dims);
  const Rows rows(x, how.whole_example);
  rows.for_each([&](std::int64_t at) {
    const auto from = x.values.begin() + at, to = from + rows.size();
    const double largest = *std::max_element(from, to);
    double sum = 0;
    for (auto value = from; value != to; ++value) sum += std::exp(*value - largest);
    std::transform(from, to, y.values.begin() + at, [&](double value) {
      return how.log ? value - largest - std::log(sum) : std::exp(value - largest) / sum;
    });
  });
  return y;
}

DnnArray softmax_gradient(const DnnSoftmax& how, const DnnArray& y, const DnnArray& dy) {
  DnnArray dx(y.dims);
  const Rows rows(y, how.whole_example);
  rows.for_each([&](std::int64_t at) {
    double sum = 0;
    const auto begin = static_cast<std::size_t>(at),
               end = begin + static_cast<std::size_t>(rows.size());
    for (std::size_t i = begin; i < end; ++i)
      sum += how.log ? dy.values[i] : dy.values[i] * y.values[i];
    for (std::size_t i = begin; i < end; ++i) {
      dx.values[i] =
          how.log ? dy.values[i] - std::exp(y.values[i]) * sum : y.values[i] * (dy.values[i] - sum);
    }
  });
  return dx;
}

}  // namespace towerflow::cuda::host
