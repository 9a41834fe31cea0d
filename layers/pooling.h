#pragma once

#include <string>

#include "layers/layer.h"
#include "ops/nn/window_args.h"

namespace towerflow::layers {

struct PoolingLayerOptions {
  ByName by_name = ByName();
  std::string padding = "valid";              ///< or "same"
  std::string data_format = "channels_last";  ///< or "channels_first"
  std::string name{};                         ///< default: the function's name
  std::optional<Scope> scope{};               ///< of an object only: Python's `_scope`
};

/// Layers that take the maximum or the mean of each window.
///
/// shapes   2d: inputs [N,H,W,C] -> [N,P,Q,C] as nn::max_pool; 1d: inputs [N,T,C] -> [N,P,C]
/// dtypes   max_pooling real numbers; average_pooling float32, float64
/// grads    inputs
/// errors   ValueError: rank, sizes below 1, unknown padding or format, a window larger than the
///          image
/// source   tf.layers.max_pooling2d, ..
Tensor max_pooling2d(const Operand& inputs, const nn::Extents& pool_size,
                     const nn::Extents& strides, PoolingLayerOptions options = {},
                     Site site = Site::current());
Tensor average_pooling2d(const Operand& inputs, const nn::Extents& pool_size,
                         const nn::Extents& strides, PoolingLayerOptions options = {},
                         Site site = Site::current());
Tensor max_pooling1d(const Operand& inputs, const nn::Extents& pool_size,
                     const nn::Extents& strides, PoolingLayerOptions options = {},
                     Site site = Site::current());
Tensor average_pooling1d(const Operand& inputs, const nn::Extents& pool_size,
                         const nn::Extents& strides, PoolingLayerOptions options = {},
                         Site site = Site::current());

}  // namespace towerflow::layers

namespace towerflow::layers::types {

/// (tf.layers.MaxPooling2D)
class MaxPooling2D : public Layer {
 public:
  MaxPooling2D(const nn::Extents& pool_size, const nn::Extents& strides,
               PoolingLayerOptions options = {}, Site site = Site::current());
};

/// (tf.layers.AveragePooling2D)
class AveragePooling2D : public Layer {
 public:
  AveragePooling2D(const nn::Extents& pool_size, const nn::Extents& strides,
                   PoolingLayerOptions options = {}, Site site = Site::current());
};

/// (tf.layers.MaxPooling1D)
class MaxPooling1D : public Layer {
 public:
  MaxPooling1D(const nn::Extents& pool_size, const nn::Extents& strides,
               PoolingLayerOptions options = {}, Site site = Site::current());
};

/// (tf.layers.AveragePooling1D)
class AveragePooling1D : public Layer {
 public:
  AveragePooling1D(const nn::Extents& pool_size, const nn::Extents& strides,
                   PoolingLayerOptions options = {}, Site site = Site::current());
};

}  // namespace towerflow::layers::types
