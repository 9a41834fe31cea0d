#pragma once

#include <optional>
#include <string>

#include "layers/layer.h"
#include "layers/training.h"
#include "ops/nn/window_args.h"
#include "ops/variables/initializers.h"

namespace towerflow::layers {

struct BatchNormalizationLayerOptions {
  ByName by_name = ByName();
  nn::Extents axis = -1;   ///< the dimensions that are not averaged over
  double momentum = 0.99;  ///< of the moving averages
  double epsilon = 1e-3;   ///< added to the variance
  bool center = true;      ///< whether to add `beta`
  bool scale = true;       ///< whether to multiply by `gamma`
  std::optional<Initializer> beta_initializer = zeros_initializer();
  std::optional<Initializer> gamma_initializer = ones_initializer();
  std::optional<Initializer> moving_mean_initializer = zeros_initializer();
  std::optional<Initializer> moving_variance_initializer = ones_initializer();
  Regularizer beta_regularizer{};
  Regularizer gamma_regularizer{};
  Constraint beta_constraint{};
  Constraint gamma_constraint{};
  Training training = false;  ///< whether to use the moments of the batch: a bool, or a tensor by
                              ///< which each run decides
  bool trainable = true;
  std::string name{};            ///< default: "batch_normalization"
  Reuse reuse = std::nullopt;    ///< Python's `_reuse` of the class
  bool renorm = false;           ///< must be false
  std::optional<bool> fused{};   ///< whether to use one op; default: where it can be
  std::optional<Scope> scope{};  ///< of an object only: Python's `_scope`
  std::optional<DType> dtype{};  ///< of an object only; default: that of its first input
};

/// Normalizes the inputs along all dimensions but `axis`: in training to mean 0 and variance 1 of
/// the batch, else by the moving averages; then multiplies by `gamma` and adds `beta`.
///
/// In training it lists the ops that update `moving_mean` and `moving_variance` in UPDATE_OPS; as
/// in TensorFlow, nothing runs them unless the training step depends on them. If `training` is a
/// tensor, a run in which it is false leaves the averages unchanged.
///
/// shapes   inputs [..] -> as inputs; variables [n], the size of `axis`; of several axes, the
///          inputs' rank with 1 in place of the others
/// dtypes   float32, float64
/// grads    inputs, gamma, beta
/// errors   ValueError: an axis out of range, of unknown size or repeated, an unsupported `fused`;
///          TypeError: `training` is a tensor of another dtype than bool; UnimplementedError:
///          renorm
/// source   tf.layers.batch_normalization
Tensor batch_normalization(const Operand& inputs, BatchNormalizationLayerOptions options = {},
                           Site site = Site::current());

}  // namespace towerflow::layers

namespace towerflow::layers::types {

/// The layer of `batch_normalization` as an object. Calls may differ in `training`.
/// (tf.layers.BatchNormalization)
class BatchNormalization : public Layer {
 public:
  explicit BatchNormalization(BatchNormalizationLayerOptions options = {},
                              Site site = Site::current());

  using Layer::operator();
  /// Calls the layer with another `training` than that of its options.
  Tensor operator()(const Operand& inputs, Training training, Site site = Site::current()) const;

  /// Returns a weight; an invalid Variable before the first call, or if there is none.
  Variable gamma() const;
  Variable beta() const;
  Variable moving_mean() const;
  Variable moving_variance() const;
};

}  // namespace towerflow::layers::types
