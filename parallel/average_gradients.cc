#include "parallel/average_gradients.h"

#include <fmt/format.h>

#include <algorithm>

#include "autodiff/aggregate.h"
#include "ops/array/concat.h"
#include "ops/array/indexed_slices.h"
#include "ops/array/view.h"
#include "ops/math/binary.h"
#include "ops/math/reduce.h"

namespace towerflow {
namespace {

Gradient mean_of(const std::vector<Gradient>& present, Site site) {
  const bool all_slices =
      std::none_of(present.begin(), present.end(), [](const Gradient& g) { return g.is_dense(); });
  if (all_slices) {
    const IndexedSlices sum =
        aggregate_gradients(present, "", AggregationMethod::DEFAULT, site).slices();
    if (present.size() == 1) return sum;
    return IndexedSlices{divide(sum.values, static_cast<int>(present.size()), {}, site),
                         sum.indices, sum.dense_shape};
  }
  std::vector<Tensor> expanded;
  for (const Gradient& gradient : present) {
    const Tensor dense =
        gradient.is_dense() ? gradient.dense() : convert_to_tensor(gradient.slices(), {}, site);
    expanded.push_back(expand_dims(dense, 0, {}, site));
  }
  return reduce_mean(concat(expanded, 0, {}, site), 0, {}, site);
}

}  // namespace

std::vector<GradAndVar> average_gradients(const std::vector<std::vector<GradAndVar>>& tower_grads,
                                          Site site) {
  if (tower_grads.empty()) {
    throw ValueError("average_gradients needs the gradients of at least one tower", {.site = site});
  }
  const std::size_t count = tower_grads[0].size();
  for (std::size_t tower = 1; tower < tower_grads.size(); ++tower) {
    const auto& pairs = tower_grads[tower];
    for (std::size_t i = 0; i < std::max(count, pairs.size()); ++i) {
      const std::string first = i < count ? tower_grads[0][i].var.name() : "nothing";
      const std::string here = i < pairs.size() ? pairs[i].var.name() : "nothing";
      if (first != here) {
        throw ValueError(
            fmt::format("tower {} lists {} where tower 0 lists {}", tower, here, first),
            {.site = site,
             .hint = "call reuse_variables() after each tower, so that all share the "
                     "variables of the first"});
      }
    }
  }
  std::vector<GradAndVar> averages;
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<Gradient> present;
    for (const auto& pairs : tower_grads) {
      if (pairs[i].grad) present.push_back(*pairs[i].grad);
    }
    averages.push_back({std::nullopt, tower_grads[0][i].var});
    if (!present.empty()) averages.back().grad = mean_of(present, site);
  }
  return averages;
}

}  // namespace towerflow
