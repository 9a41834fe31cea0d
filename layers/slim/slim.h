#pragma once

#include <functional>
#include <initializer_list>
#include <string>

#include "layers/slim/arg_scope.h"
#include "layers/slim/args.h"
#include "layers/slim/initializers.h"
#include "layers/slim/regularizers.h"

/// The layers of TF-Slim, in which Inception and ResNet are written. Their variables are listed in
/// MODEL_VARIABLES and their weights' losses in REGULARIZATION_LOSSES. Arguments by name can be set
/// for many calls by arg_scope.
///
/// source   tf_slim
namespace towerflow::slim {

/// Returns activation_fn(convolution + biases), by default with padding "SAME" and relu; with a
/// `normalizer_fn` without biases: activation_fn(normalizer_fn(convolution)). The variables are
/// `weights` and `biases`, the scope is "Conv", made unique.
///
/// shapes   inputs [N,H,W,C], weights [R,S,C,num_outputs] -> [N,P,Q,num_outputs] as nn::conv2d
/// dtypes   float32, float64
/// grads    inputs, weights, biases
/// errors   ValueError: rank, sizes below 1, an unknown number of channels, unknown padding or
///          format; TypeError: an argument of another function
/// source   slim.conv2d
Tensor conv2d(const Operand& inputs, int num_outputs, const nn::Extents& kernel_size,
              Args args = {}, Site site = Site::current());

/// Returns activation_fn(inputs * weights + biases), by default with relu; `normalizer_fn` as in
/// conv2d. The scope is "fully_connected", made unique.
///
/// shapes   inputs [.., n], weights [n, num_outputs] -> [.., num_outputs]
/// dtypes   float32, float64
/// grads    inputs, weights, biases
/// errors   ValueError: rank below 2, n unknown
/// source   slim.fully_connected
Tensor fully_connected(const Operand& inputs, int num_outputs, Args args = {},
                       Site site = Site::current());

/// Return the maximum or the mean of windows, by default with stride 2 and padding "VALID".
/// shapes   inputs [N,H,W,C] -> [N,P,Q,C] as nn::max_pool
/// grads    inputs     errors  as conv2d     source  slim.max_pool2d, slim.avg_pool2d
Tensor max_pool2d(const Operand& inputs, const nn::Extents& kernel_size, Args args = {},
                  Site site = Site::current());
Tensor avg_pool2d(const Operand& inputs, const nn::Extents& kernel_size, Args args = {},
                  Site site = Site::current());

/// Batch normalization, by default in training, with `beta` but without `gamma` (`scale`), a
/// `decay` of 0.999 and an `epsilon` of 0.001. In training, the ops that update `moving_mean` and
/// `moving_variance` are listed in UPDATE_OPS or other `updates_collections`; with None, the result
/// waits for them. If `is_training` is a tensor, each run decides.
///
/// shapes   inputs [.., C] (NCHW: [N, C, ..]) -> as inputs
/// dtypes   float32, float64
/// grads    inputs, beta, gamma
/// errors   ValueError: an unknown rank or number of channels; TypeError: `is_training` is a tensor
///          of another dtype than bool
/// source   slim.batch_norm
Tensor batch_norm(const Operand& inputs, Args args = {}, Site site = Site::current());

/// In training, the default, keeps each element with the probability `keep_prob`, by default 0.5,
/// and divides it by that.
/// shapes   inputs [..] -> as inputs     grads  inputs     source  slim.dropout
Tensor dropout(const Operand& inputs, Args args = {}, Site site = Site::current());

/// Returns the inputs as a matrix with one row for each example.
/// shapes   inputs [n, d1, ..] -> [n, d1 * ..]     grads  inputs     source  slim.flatten
Tensor flatten(const Operand& inputs, Args args = {}, Site site = Site::current());

/// Returns rows that are `on_value` at the label and `off_value` elsewhere.
/// shapes   labels [..] -> [.., num_classes]     dtypes  labels int32, int64 -> float32
/// grads    none, as in TensorFlow     source  slim.one_hot_encoding
Tensor one_hot_encoding(const Operand& labels, int num_classes, Args args = {},
                        Site site = Site::current());

/// exp(logits) / sum(exp(logits)) along the last dimension.
/// shapes   logits [.., C] -> as logits     grads  logits
/// errors   ValueError: rank below 2, C unknown     source  slim.softmax
Tensor softmax(const Operand& logits, Args args = {}, Site site = Site::current());

using Conv2DFunction = Tensor (*)(const Operand&, int, const nn::Extents&, Args, Site);
using FullyConnectedFunction = Tensor (*)(const Operand&, int, Args, Site);
/// A layer in a scope of its own.
using ScopedLayer = std::function<Tensor(const Tensor& inputs, const std::string& scope)>;

/// Calls a layer several times, each time on the result before, with the scopes "conv_1", "conv_2",
/// .. in the scope "conv", where "conv" is `args.scope`. Without a scope, that around is called
/// "Repeat" and the layers' by the function: "convolution2d_1".
///
/// errors   those of the layer     source  slim.repeat
Tensor repeat(const Operand& inputs, int repetitions, Conv2DFunction layer, int num_outputs,
              const nn::Extents& kernel_size, Args args = {}, Site site = Site::current());
Tensor repeat(const Operand& inputs, int repetitions, FullyConnectedFunction layer, int num_outputs,
              Args args = {}, Site site = Site::current());
/// With any layer, which gets its scope as the second argument: "repeat_1" without `args.scope`.
Tensor repeat(const Operand& inputs, int repetitions, const ScopedLayer& layer, Args args = {},
              Site site = Site::current());

}  // namespace towerflow::slim

namespace towerflow::slim::types {

/// The arguments of one convolution of `stack`.
struct ConvSize {
  int num_outputs = 0;
  nn::Extents kernel_size = 1;
};

}  // namespace towerflow::slim::types

namespace towerflow::slim {

using namespace types;

/// Calls a layer once for each entry of `stack_args`, each time on the result before. Scopes are as
/// in repeat, with "Stack" in place of "Repeat".
///
/// errors   those of the layer     source  slim.stack
Tensor stack(const Operand& inputs, Conv2DFunction layer,
             std::initializer_list<ConvSize> stack_args, Args args = {},
             Site site = Site::current());
Tensor stack(const Operand& inputs, FullyConnectedFunction layer,
             std::initializer_list<int> stack_args, Args args = {}, Site site = Site::current());

}  // namespace towerflow::slim
