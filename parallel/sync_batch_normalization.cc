#include "parallel/sync_batch_normalization.h"

#include <fmt/format.h>

#include "core/graph/op_builder.h"
#include "layers/batch_moments.h"
#include "layers/batch_norm_body.h"
#include "ops/math/binary.h"

namespace towerflow::parallel {
namespace {

using layers::SampleMoments;

/// The layer, called for all towers at once.
class SyncBatchNormBody final : public layers::BatchNormBody {
 public:
  using BatchNormBody::BatchNormBody;

  std::vector<Tensor> apply_to_towers(const Lockstep& towers, const std::vector<Tensor>& inputs,
                                      Site site) {
    std::vector<Tensor> results;
    const auto check = [&] {
      for (const Tensor& input : inputs) input_spec.check(input, name(), site);
    };
    enter(
        std::nullopt,
        [&] {
          check();
          if (!dtype()) set_dtype(inputs[0].dtype());
          build(inputs[0].shape(), site);
        },
        [&] {
          check();
          results = normalize_towers(towers, inputs, site);
        },
        site);
    return results;
  }

 private:
  std::vector<Tensor> normalize_towers(const Lockstep& towers, const std::vector<Tensor>& inputs,
                                       Site site) {
    nn::Moments moments{Tensor(moving_mean), Tensor(moving_variance)};
    if (training().may_be(true)) moments = joined_moments(towers, inputs, site);
    return in_towers(towers, site, [&](int tower) {
      const Tensor& input = inputs[static_cast<std::size_t>(tower)];
      return normalize(input, parameters(input.shape(), site), moments, site);
    });
  }

  /// Returns the moments of all towers' batches in training, and moves the averages towards them.
  nn::Moments joined_moments(const Lockstep& towers, const std::vector<Tensor>& inputs, Site site) {
    std::vector<SampleMoments> samples;
    in_towers(towers, site, [&](int tower) {
      const Tensor& input = inputs[static_cast<std::size_t>(tower)];
      const nn::Moments own = moments_of(input, site);
      samples.push_back({own.mean, own.variance, input, averaged_axes(input.shape())});
      return own.mean;
    });
    const auto [joined, count] = layers::merged_moments(samples, site);
    const Tensor mean = in_use(joined.mean, moving_mean, site);
    const Tensor variance = in_use(joined.variance, moving_variance, site);
    move_average(moving_mean, mean, site);
    Tensor kept = variance;
    if (fused()) {  // as one op for the whole batch would return it
      const Tensor unbiased = layers::unbiased_variance(joined.variance, count, site);
      kept = in_use(unbiased, moving_variance, site);
    }
    move_average(moving_variance, kept, site);
    return {mean, variance};
  }

  /// Calls `build` for each tower, in a name scope named after the layer's variable scope.
  std::vector<Tensor> in_towers(const Lockstep& towers, Site site,
                                const std::function<Tensor(int tower)>& build) {
    return towers.each(
        [&](int tower) {
          const auto at = static_cast<std::size_t>(tower);
          const bool again = at < scopes_.size();
          const NameScope names = name_scope(again ? scopes_[at] : scope_name(site), {}, site);
          if (!again) scopes_.push_back(names.name());
          return build(tower);
        },
        site);
  }

  std::vector<std::string> scopes_;  // of the towers, once they are open
};

}  // namespace

std::vector<Tensor> sync_batch_normalization(const Lockstep& towers,
                                             const std::vector<Tensor>& inputs,
                                             layers::BatchNormalizationLayerOptions options,
                                             Site site) {
  if (inputs.size() != static_cast<std::size_t>(towers.num_towers())) {
    throw ValueError(fmt::format("sync_batch_normalization got {} inputs for {} towers",
                                 inputs.size(), towers.num_towers()),
                     {.site = site, .op = options.name});
  }
  const DefaultGraphGuard graph(graph_of(inputs, site));
  options.scope = options.name;
  return SyncBatchNormBody(std::move(options), site).apply_to_towers(towers, inputs, site);
}

}  // namespace towerflow::parallel
