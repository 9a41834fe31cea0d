#include "parallel/average_gradients.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "autodiff/aggregate.h"
#include "core/graph/scopes.h"
#include "ops/array/cast.h"
#include "ops/array/concat.h"
#include "ops/array/constant.h"
#include "ops/array/indexed_slices.h"
#include "ops/array/select.h"
#include "ops/array/view.h"
#include "ops/math/add_n.h"
#include "ops/math/binary.h"
#include "ops/math/reduce.h"

namespace towerflow {
namespace {

using TowerGrads = std::vector<std::vector<GradAndVar>>;

/// The towers that have a gradient of one variable, and these gradients.
struct PresentGradients {
  std::vector<std::size_t> towers;
  std::vector<Gradient> gradients;
};

PresentGradients present_gradients(const TowerGrads& tower_grads, std::size_t variable) {
  PresentGradients present;
  for (std::size_t tower = 0; tower < tower_grads.size(); ++tower) {
    const OptionalGradient& gradient = tower_grads[tower][variable].grad;
    if (!gradient) continue;
    present.towers.push_back(tower);
    present.gradients.push_back(*gradient);
  }
  return present;
}

/// Averages the gradients of one variable at a time; shares the weight nodes between variables.
class Averager {
 public:
  Averager(const AverageOptions& options, std::size_t towers, Site site)
      : policy_(options.policy), weights_(options.weights), towers_(towers), site_(site) {}

  Gradient average(const PresentGradients& present) {
    const std::vector<Gradient>& gradients = present.gradients;
    const bool all_slices = std::none_of(gradients.begin(), gradients.end(),
                                         [](const Gradient& g) { return g.is_dense(); });
    return all_slices ? Gradient(average_slices(present)) : Gradient(average_dense(present));
  }

 private:
  bool weighted() const { return policy_ == AveragePolicy::weighted_mean; }
  bool is_mean() const {
    return policy_ == AveragePolicy::mean_over_present || policy_ == AveragePolicy::require_all;
  }

  IndexedSlices average_slices(const PresentGradients& present) {
    std::vector<Gradient> slices = present.gradients;
    if (weighted()) {
      for (std::size_t i = 0; i < slices.size(); ++i) {
        IndexedSlices one = slices[i].slices();
        one.values = apply_weight(one.values, present.towers[i]);
        slices[i] = one;
      }
    }
    IndexedSlices sum = aggregate_gradients(slices, "", AggregationMethod::DEFAULT, site_).slices();
    if (is_mean() && slices.size() > 1) {
      sum.values = divide(sum.values, static_cast<int>(slices.size()), {}, site_);
    } else if (!is_mean()) {
      sum.values = divided(sum.values, present);
    }
    return sum;
  }

  Tensor average_dense(const PresentGradients& present) {
    std::vector<Tensor> expanded;
    for (std::size_t i = 0; i < present.towers.size(); ++i) {
      const Gradient& gradient = present.gradients[i];
      Tensor dense =
          gradient.is_dense() ? gradient.dense() : convert_to_tensor(gradient.slices(), {}, site_);
      if (weighted()) dense = apply_weight(dense, present.towers[i]);
      expanded.push_back(expand_dims(dense, 0, {}, site_));
    }
    const Tensor rows = concat(expanded, 0, {}, site_);
    return is_mean() ? reduce_mean(rows, 0, {}, site_)
                     : divided(reduce_sum(rows, 0, {}, site_), present);
  }

  /// Divides a sum as the policy requires.
  Tensor divided(const Tensor& sum, const PresentGradients& present) {
    if (policy_ == AveragePolicy::mean_over_all) {
      return divide(sum, static_cast<int>(towers_), {}, site_);
    }
    return weighted() ? divide(sum, total(present.towers, sum.dtype()), {}, site_) : sum;
  }

  Tensor apply_weight(const Tensor& gradient, std::size_t tower) {
    return multiply(counted(gradient, tower), weight(tower, gradient.dtype()), {}, site_);
  }

  /// Returns zeros for a gradient of weight 0: it may be NaN, and 0 * NaN is NaN.
  Tensor counted(const Tensor& gradient, std::size_t tower) {
    if (is_never_zero(tower)) return gradient;
    const Tensor counts = is_nonzero(weight(tower, gradient.dtype()));
    const ColocationScope beside(gradient.graph(), &gradient.node(), false);
    return where_v2(counts, gradient, constant(0, {.dtype = gradient.dtype()}, site_), {}, site_);
  }

  /// Returns whether a weight is known not to be 0 while the graph is built.
  bool is_never_zero(std::size_t tower) const {
    const Array known = constant_value(weights_[tower]);
    bool nonzero = false;
    if (!known.empty()) {
      dispatch_dtype(known.dtype(), [&]<class T>() { nonzero = known.data<T>()[0] != T(0); });
    }
    return nonzero;
  }

  /// Returns whether a weight, or a sum of them, is not 0; all variables share it.
  Tensor is_nonzero(const Tensor& number) {
    const auto [at, is_new] = nonzero_.try_emplace(number.name());
    if (is_new) {
      const ColocationScope beside(number.graph(), &number.node(), false);
      at->second = not_equal(number, 0, {}, site_);
    }
    return at->second;
  }

  /// Returns a tower's weight in a dtype; all variables share it.
  Tensor weight(std::size_t tower, DType dtype) {
    const auto [at, is_new] = casts_.try_emplace({tower, dtype});
    if (is_new) at->second = cast(weights_[tower], dtype, {}, site_);
    return at->second;
  }

  Tensor total(const std::vector<std::size_t>& towers, DType dtype) {
    const auto [at, is_new] = totals_.try_emplace({towers, dtype});
    if (is_new) {
      std::vector<Tensor> weights;
      for (const std::size_t tower : towers) weights.push_back(weight(tower, dtype));
      Tensor sum = add_n(weights, {}, site_);
      const bool may_be_zero = !std::all_of(
          towers.begin(), towers.end(), [&](std::size_t tower) { return is_never_zero(tower); });
      // The sum of gradients that count nothing is 0, and so is their average.
      if (may_be_zero)
        sum = where(is_nonzero(sum), sum, constant(1, {.dtype = dtype}, site_), {}, site_);
      at->second = sum;
    }
    return at->second;
  }

  AveragePolicy policy_;
  std::vector<Tensor> weights_;
  std::size_t towers_;
  Site site_;
  std::map<std::pair<std::size_t, DType>, Tensor> casts_;
  std::map<std::pair<std::vector<std::size_t>, DType>, Tensor> totals_;
  std::map<std::string, Tensor> nonzero_;
};

std::multiset<std::string> names_of(const std::vector<GradAndVar>& pairs) {
  std::multiset<std::string> names;
  for (const GradAndVar& pair : pairs) names.insert(pair.var.name());
  return names;
}

/// Throws unless the towers list the same variables in the same order. The source would average
/// gradients of different variables.
void check_variables(const TowerGrads& tower_grads, Site site) {
  if (tower_grads.empty()) {
    throw ValueError("average_gradients needs the gradients of at least one tower", {.site = site});
  }
  const std::vector<GradAndVar>& first = tower_grads[0];
  for (std::size_t tower = 1; tower < tower_grads.size(); ++tower) {
    const std::vector<GradAndVar>& here = tower_grads[tower];
    const std::size_t both = std::min(first.size(), here.size());
    std::size_t at = 0;
    while (at < both && here[at].var.name() == first[at].var.name()) ++at;
    if (at == both && first.size() == here.size()) continue;
    if (at == both) {
      const auto& longer = first.size() > both ? first : here;
      throw ValueError(
          fmt::format("tower {} lists {} variables and tower 0 lists {}: {} is missing", tower,
                      here.size(), first.size(), longer[both].var.name()),
          {.site = site, .hint = "give each compute_gradients the same .var_list"});
    }
    const bool reordered = names_of(first) == names_of(here);
    throw ValueError(
        fmt::format("tower {} lists {} at position {}, where tower 0 lists {}", tower,
                    here[at].var.name(), at, first[at].var.name()),
        {.site = site,
         .node = here[at].var.op().name(),
         .hint = reordered ? "they are the same variables in another order: give each "
                             "compute_gradients the same .var_list"
                           : "call reuse_variables() after each tower, so that all share the "
                             "variables of the first"});
  }
}

void check_weights(const AverageOptions& options, std::size_t towers, Site site) {
  const bool weighted = options.policy == AveragePolicy::weighted_mean;
  if (options.weights.size() != (weighted ? towers : 0)) {
    throw ValueError(
        fmt::format(
            "average_gradients got {} weights for {} towers; {}", options.weights.size(), towers,
            weighted ? "weighted_mean takes one for each" : "only weighted_mean takes weights"),
        {.site = site});
  }
  for (const Tensor& weight : options.weights) {
    if (weight.shape().compatible(Shape{})) continue;
    throw ValueError(fmt::format("the weight of a tower must be a scalar, but {} has shape {}",
                                 weight.name(), weight.shape().text()),
                     {.site = site});
  }
}

/// Throws if a variable has a gradient in some towers and none in others; the message lists all of
/// them.
void check_complete(const TowerGrads& tower_grads, Site site) {
  std::string absent;
  for (std::size_t i = 0; i < tower_grads[0].size(); ++i) {
    const PresentGradients present = present_gradients(tower_grads, i);
    if (present.towers.empty() || present.towers.size() == tower_grads.size()) continue;
    std::vector<std::string> towers;
    for (std::size_t tower = 0; tower < tower_grads.size(); ++tower) {
      if (!tower_grads[tower][i].grad) towers.push_back(fmt::format("tower {}", tower));
    }
    absent += fmt::format("\n  {}: {}", tower_grads[0][i].var.name(), fmt::join(towers, ", "));
  }
  if (absent.empty()) return;
  throw ValueError("require_all is set, but gradients are absent:" + absent,
                   {.site = site, .hint = "tf::why_none(loss, variable) gives the reason"});
}

/// Returns the origin of an average over `towers`, `present` of which have a gradient. `first` is
/// that of the first tower's.
std::shared_ptr<const GradientOrigin> average_origin(
    const std::shared_ptr<const GradientOrigin>& first, AveragePolicy policy, std::size_t towers,
    std::size_t present) {
  if (first == nullptr || policy == AveragePolicy::sum) return first;
  auto made = std::make_shared<GradientOrigin>(*first);
  made->towers = static_cast<int>(policy == AveragePolicy::mean_over_all ? towers : present);
  return made;
}

}  // namespace

std::vector<GradAndVar> average_gradients(const std::vector<std::vector<GradAndVar>>& tower_grads,
                                          AverageOptions options, Site site) {
  check_variables(tower_grads, site);
  check_weights(options, tower_grads.size(), site);
  if (options.policy == AveragePolicy::require_all) check_complete(tower_grads, site);
  Averager averager(options, tower_grads.size(), site);
  std::vector<GradAndVar> averages;
  if (tower_grads[0].empty()) return averages;
  const RoleScope role(tower_grads[0][0].var.graph(), NodeRole::gradient);
  for (std::size_t i = 0; i < tower_grads[0].size(); ++i) {
    OptionalGradient average;
    const PresentGradients present = present_gradients(tower_grads, i);
    if (!present.towers.empty()) average = averager.average(present);
    const auto origin = average_origin(tower_grads[0][i].grad.origin(), options.policy,
                                       tower_grads.size(), present.towers.size());
    averages.push_back({average.with_origin(origin), tower_grads[0][i].var});
  }
  return averages;
}

}  // namespace towerflow
