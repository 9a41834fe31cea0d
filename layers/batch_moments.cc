#include "layers/batch_moments.h"

#include <algorithm>

#include "core/graph/op_builder.h"
#include "ops/array/cast.h"
#include "ops/array/fill.h"
#include "ops/array/indexed_slices.h"
#include "ops/array/rank_size.h"
#include "ops/array/select.h"
#include "ops/math/add_n.h"
#include "ops/math/binary.h"
#include "ops/math/unary.h"

namespace towerflow::layers {
namespace {

struct RecordedMoments {
  std::vector<BatchMoments> calls;
};

/// What each sample contributes to the mean, to the part of the variance within the samples and to
/// that between them.
struct SampleWeights {
  std::vector<Operand> mean, within, between;
  bool equal = false;  ///< numbers, the same for all samples
  ValueCount total{};
};

/// Returns the weights of samples whose sizes are known.
SampleWeights known_weights(const std::vector<ValueCount>& counts, bool unbiased, Site site) {
  std::int64_t total = 0;
  for (const ValueCount& count : counts) total += *count.known;
  const std::int64_t lost = unbiased ? 1 : 0;
  const auto divided = [&](std::int64_t part, std::int64_t by) {
    return Operand(static_cast<double>(part) / static_cast<double>(std::max<std::int64_t>(by, 1)),
                   site);
  };
  SampleWeights weights;
  weights.equal = true;
  weights.total.known = total;
  for (const ValueCount& count : counts) {
    const std::int64_t n = *count.known;
    weights.equal = weights.equal && n == *counts[0].known;
    weights.mean.push_back(divided(n, total));
    weights.within.push_back(divided(std::max<std::int64_t>(n - lost, 0), total - lost));
    weights.between.push_back(divided(n, total - lost));
  }
  return weights;
}

/// Returns the weights of samples whose sizes a run knows.
SampleWeights weights_of_run(const std::vector<ValueCount>& counts, DType dtype, bool unbiased,
                             Site site) {
  std::vector<Tensor> sizes;
  for (const ValueCount& count : counts) {
    sizes.push_back(count.known
                        ? convert_to_tensor(Operand(static_cast<double>(*count.known), site),
                                            {.dtype = dtype}, site)
                        : count.tensor);
  }
  const Operand one(1.0, site);
  const auto lessened = [&](const Tensor& size) {
    return unbiased ? maximum(Operand(size, site) - one, Operand(0.0, site), {}, site) : size;
  };
  const Tensor total = maximum(Operand(add_n(sizes, {}, site), site), one, {}, site);
  const Tensor divisor = unbiased ? maximum(Operand(total, site) - one, one, {}, site) : total;
  SampleWeights weights;
  weights.total.tensor = total;
  for (const Tensor& size : sizes) {
    const Operand n(size, site);
    weights.mean.emplace_back(divide(n, Operand(total, site), {}, site), site);
    weights.within.emplace_back(
        divide(Operand(lessened(size), site), Operand(divisor, site), {}, site), site);
    weights.between.emplace_back(divide(n, Operand(divisor, site), {}, site), site);
  }
  return weights;
}

Tensor weighted_sum(const std::vector<Tensor>& values, const std::vector<Operand>& weights,
                    bool equal, Site site) {
  if (equal) return multiply(Operand(add_n(values, {}, site), site), weights[0], {}, site);
  std::vector<Tensor> products;
  for (std::size_t i = 0; i < values.size(); ++i) {
    products.push_back(multiply(Operand(values[i], site), weights[i], {}, site));
  }
  return add_n(products, {}, site);
}

/// Returns the moments of a sample; zeros if it has no values in a run, where a mean is NaN.
SampleMoments without_nan(SampleMoments sample, const ValueCount& count, Site site) {
  if (count.known && *count.known > 0) return sample;
  const Tensor zeros = zeros_like(Operand(sample.mean, site), {}, site);
  if (count.known) {
    sample.mean = sample.variance = zeros;
    return sample;
  }
  const Operand any(greater(Operand(count.tensor, site), Operand(0.0, site), {}, site), site);
  for (Tensor* moment : {&sample.mean, &sample.variance}) {
    *moment = where(any, Operand(*moment, site), Operand(zeros, site), {}, site);
  }
  return sample;
}

}  // namespace

void add_batch_moments(BatchMoments moments) {
  Graph& graph = moments.sample.mean.graph();
  graph.extension<RecordedMoments>().calls.push_back(std::move(moments));
}

const std::vector<BatchMoments>& all_batch_moments() {
  return get_default_graph().extension<RecordedMoments>().calls;
}

ValueCount count_values(const SampleMoments& sample, Site site) {
  const Shape& shape = sample.inputs.shape();
  std::int64_t count = 1;
  bool known = true;
  for (const int axis : sample.axes) {
    known = known && shape[axis].known();
    if (known) count *= shape.size(static_cast<std::size_t>(axis));
  }
  if (known) return {count};
  const Tensor all = size(Operand(sample.inputs, site), {.out_type = DType::int64}, site);
  const Operand values(cast(all, sample.mean.dtype(), {}, site), site);
  const auto channels = static_cast<double>(sample.mean.shape().elements());
  return {std::nullopt, divide(values, Operand(channels, site), {}, site)};
}

MergedMoments merged_moments(const std::vector<SampleMoments>& samples, Site site) {
  std::vector<ValueCount> counts;
  std::vector<Tensor> means, variances, squares;
  bool known = true;
  for (const SampleMoments& sample : samples) {
    counts.push_back(count_values(sample, site));
    known = known && counts.back().known;
    const SampleMoments safe = without_nan(sample, counts.back(), site);
    means.push_back(safe.mean);
    variances.push_back(safe.variance);
  }
  const bool unbiased = samples[0].unbiased;
  const SampleWeights weights = known ? known_weights(counts, unbiased, site)
                                      : weights_of_run(counts, means[0].dtype(), unbiased, site);
  const Tensor mean = weighted_sum(means, weights.mean, weights.equal, site);
  for (const Tensor& own : means) {
    squares.push_back(square(Operand(own, site) - Operand(mean, site), {}, site));
  }
  const Tensor within = weighted_sum(variances, weights.within, weights.equal, site);
  const Tensor between = weighted_sum(squares, weights.between, weights.equal, site);
  return {{mean, Operand(within, site) + Operand(between, site)}, weights.total};
}

Tensor unbiased_variance(const Tensor& variance, const ValueCount& count, Site site) {
  const Operand biased(variance, site);
  if (count.known) {
    const auto values = static_cast<double>(*count.known);
    return biased * Operand(values / std::max(values - 1, 1.0), site);
  }
  const Operand one(1.0, site), values(count.tensor, site);
  const Tensor divisor = maximum(values - one, one, {}, site);
  return biased * Operand(divide(values, Operand(divisor, site), {}, site), site);
}

}  // namespace towerflow::layers
