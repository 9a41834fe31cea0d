#pragma once

#include <optional>
#include <vector>

#include "layers/normalization.h"
#include "ops/nn/batch_normalization.h"

namespace towerflow::layers {

/// What batch normalizations share: checked arguments, the weights, and the ops that normalize.
class BatchNormBody : public LayerBody {
 public:
  BatchNormBody(BatchNormalizationLayerOptions options, Site site);

  Tensor apply_in_mode(const Operand& inputs, const Training& training, Site site);

  Variable gamma, beta, moving_mean, moving_variance;

 protected:
  void build(const Shape& shape, Site site) override;
  Tensor call(const Tensor& inputs, Site site) override;

  /// Returns the dimensions that are averaged over.
  std::vector<int> averaged_axes(const Shape& inputs) const;
  /// Returns mean and variance of inputs by ops, of the shape of the moving averages.
  nn::Moments moments_of(const Tensor& inputs, Site site) const;
  /// Returns what was found in the batch in training, else the moving average.
  Tensor in_use(const Tensor& of_batch, const Variable& average, Site site) const;
  /// Adds an op that moves an average towards `value` in training, and lists it as an update.
  Operation move_average(const Variable& average, const Tensor& value, Site site);
  /// gamma and beta, in shapes that broadcast to the inputs; absent where the layer has none.
  struct Parameters {
    std::optional<Operand> scale, offset;
  };
  Parameters parameters(const Shape& inputs, Site site) const;
  /// Normalizes by `moments`, multiplies by gamma and adds beta, by ops.
  Tensor normalize(const Tensor& inputs, const Parameters& own, const nn::Moments& moments,
                   Site site) const;

  const Training& training() const { return training_; }
  /// Whether one op normalizes, whose variance for the moving average is unbiased.
  bool fused() const { return fused_; }

 private:
  Tensor call_fused(const Tensor& inputs, Site site);
  Tensor call_composed(const Tensor& inputs, Site site);
  Tensor momentum(Site site) const;
  void record(const nn::Moments& of_batch, const Tensor& inputs, Operation mean_update,
              Operation variance_update) const;
  void check_axes(const Shape& shape, Site site);
  bool can_be_fused(const Shape& shape) const;
  Shape parameter_shape(const Shape& shape) const;
  void add_weights(const Shape& shape, Site site);
  Operand broadcast_parameter(const Operand& value, const Shape& own, const Shape& inputs,
                              Site site) const;

  std::vector<int> axis_;
  BatchNormalizationLayerOptions options_;
  Training training_;
  bool fused_ = false;
};

}  // namespace towerflow::layers
