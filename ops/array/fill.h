#pragma once

#include <concepts>
#include <optional>
#include <string>

#include "core/graph/operand.h"

namespace towerflow {

struct FillOptions {
  std::string name{};
};

/// A tensor whose elements all are `value`.
///
/// shapes   dims [r] (int32 or int64), value [] -> dims     dtypes  that of value, all
/// grads    value: sum of dy; dims: none
/// errors   ValueError: a negative size, value not a scalar
/// source   tf.fill
Tensor fill(const Operand& dims, const Operand& value, FillOptions options = {},
            Site site = Site::current());

struct ZerosOptions {
  DType dtype = DType::float32;
  std::string name{};
};

/// Zeros (false, empty strings): a constant below 1000 elements, a Fill above, as in TensorFlow.
/// shapes   shape [r] or a tensor -> shape     grads  none reaches a constant     source  tf.zeros
Tensor zeros(const Shape& shape, ZerosOptions options = {}, Site site = Site::current());
/// Zeros of a shape that is computed. A template, so that braces mean sizes: zeros({0, 3}).
Tensor zeros_of_shape(const Tensor& shape, ZerosOptions options = {}, Site site = Site::current());
template <std::same_as<Tensor> T>
Tensor zeros(const T& shape, ZerosOptions options = {}, Site site = Site::current()) {
  return zeros_of_shape(shape, std::move(options), site);
}

/// Ones (true), as `zeros`; not for strings. (tf.ones)
Tensor ones(const Shape& shape, ZerosOptions options = {}, Site site = Site::current());
Tensor ones_of_shape(const Tensor& shape, ZerosOptions options = {}, Site site = Site::current());
template <std::same_as<Tensor> T>
Tensor ones(const T& shape, ZerosOptions options = {}, Site site = Site::current()) {
  return ones_of_shape(shape, std::move(options), site);
}

struct LikeOptions {
  std::optional<DType> dtype{};  ///< that of the tensor when absent
  std::string name{};
};

/// Zeros of the shape of `tensor`; a constant where the shape is known.
/// grads   none: the value does not matter     source  tf.zeros_like
Tensor zeros_like(const Operand& tensor, LikeOptions options = {}, Site site = Site::current());

/// Ones of the shape of `tensor`. (tf.ones_like)
Tensor ones_like(const Operand& tensor, LikeOptions options = {}, Site site = Site::current());

}  // namespace towerflow
