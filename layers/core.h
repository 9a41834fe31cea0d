#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "layers/layer.h"
#include "layers/training.h"
#include "ops/variables/initializers.h"

namespace towerflow::layers {

struct DenseOptions {
  ByName by_name = ByName();
  Activation activation{};  ///< by default none: the layer is linear
  bool use_bias = true;
  std::optional<Initializer> kernel_initializer{};  ///< default: the scope's, else Glorot uniform
  std::optional<Initializer> bias_initializer = zeros_initializer();
  Regularizer kernel_regularizer{};
  Regularizer bias_regularizer{};
  ActivityRegularizer activity_regularizer{};  ///< its loss is divided by the batch size
  Constraint kernel_constraint{};
  Constraint bias_constraint{};
  bool trainable = true;
  std::string name{};            ///< default: "dense"
  Reuse reuse = std::nullopt;    ///< Python's `_reuse` of the class
  std::optional<Scope> scope{};  ///< of an object only: Python's `_scope`
  std::optional<DType> dtype{};  ///< of an object only; default: that of its first input
};

/// Returns activation(inputs * kernel + bias). Makes the variables `kernel` and `bias` in the
/// variable scope `name`, or finds them with `reuse`; without a name the scope is called "dense",
/// made unique.
///
/// shapes   inputs [.., n] -> [.., units]; kernel [n, units], bias [units]
/// dtypes   float32, float64
/// grads    inputs, kernel, bias
/// errors   ValueError: rank below 2, n unknown, units negative, variables that exist without
///          reuse or do not exist with it; TypeError: another dtype
/// source   tf.layers.dense
Tensor dense(const Operand& inputs, int units, DenseOptions options = {},
             Site site = Site::current());

struct DropoutLayerOptions {
  ByName by_name = ByName();
  double rate = 0.5;  ///< the probability of being dropped
  /// Sizes of the mask, nullopt where it has that of the inputs; along a size of 1 all or nothing
  /// is dropped.
  std::optional<std::vector<std::optional<int>>> noise_shape{};
  std::optional<std::int64_t> seed{};
  Training training = false;     ///< a bool, or a tensor by which each run decides
  std::string name{};            ///< default: "dropout"
  std::optional<Scope> scope{};  ///< of an object only: Python's `_scope`
};

/// In training, sets each element to zero with probability `rate` and divides the others by
/// 1 - `rate`; otherwise returns its input.
///
/// shapes   inputs [..] -> as inputs     dtypes  floating
/// grads    inputs: dy where they were kept, scaled alike
/// errors   ValueError: a rate outside [0, 1); TypeError: `training` is a tensor of another dtype
/// source   tf.layers.dropout
Tensor dropout(const Operand& inputs, DropoutLayerOptions options = {},
               Site site = Site::current());
/// With the rate second, as in TensorFlow.
inline Tensor dropout(const Operand& inputs, double rate, DropoutLayerOptions options = {},
                      Site site = Site::current()) {
  options.rate = rate;
  return dropout(inputs, std::move(options), site);
}

struct FlattenOptions {
  std::string name{};                         ///< default: "flatten"
  std::string data_format = "channels_last";  ///< or "channels_first": these are moved to the end
};

/// Returns the inputs as a matrix with one row for each example.
///
/// shapes   inputs [n, d1, ..] -> [n, d1 * ..]; [n] -> [n, 1]     dtypes  all
/// grads    inputs: dy reshaped back
/// errors   ValueError: a scalar, an unknown data format
/// source   tf.layers.flatten
Tensor flatten(const Operand& inputs, FlattenOptions options = {}, Site site = Site::current());

}  // namespace towerflow::layers

namespace towerflow::layers::types {

/// The layer of `dense` as an object. (tf.layers.Dense)
class Dense : public Layer {
 public:
  explicit Dense(int units, DenseOptions options = {}, Site site = Site::current());
  /// Returns a weight; an invalid Variable before the first call, or if there is no bias.
  Variable kernel() const;
  Variable bias() const;
};

/// (tf.layers.Dropout)
class Dropout : public Layer {
 public:
  explicit Dropout(DropoutLayerOptions options = {}, Site site = Site::current());
  explicit Dropout(double rate, DropoutLayerOptions options = {}, Site site = Site::current());
};

/// (tf.layers.Flatten)
class Flatten : public Layer {
 public:
  explicit Flatten(FlattenOptions options = {}, Site site = Site::current());
};

}  // namespace towerflow::layers::types
