#pragma once

#include <concepts>
#include <optional>
#include <string>

#include "core/graph/operand.h"

namespace towerflow {

struct FillOptions {
  std::string name{};
};

/// Returns a tensor whose elements are all `value`.
///
/// shapes   dims [r] (int32 or int64), value [] -> dims     dtypes  all, that of value
/// grads    value: sum of dy; dims: none
/// errors   ValueError: a negative size, value not a scalar
/// source   tf.fill
Tensor fill(const Operand& dims, const Operand& value, FillOptions options = {},
            Site site = Site::current());

struct ZerosOptions {
  DType dtype = DType::float32;
  std::string name{};
};

/// Returns zeros (false, empty strings): a constant if there are fewer than 1000 elements, else a
/// Fill, as in TensorFlow.
/// shapes   shape [r] or a tensor -> shape     grads  none: a constant     source  tf.zeros
Tensor zeros(const Shape& shape, ZerosOptions options = {}, Site site = Site::current());
/// Returns zeros of a computed shape.
Tensor zeros_of_shape(const Tensor& shape, ZerosOptions options = {}, Site site = Site::current());
/// (A template, so that braces are sizes: zeros({0, 3}).)
template <std::same_as<Tensor> T>
Tensor zeros(const T& shape, ZerosOptions options = {}, Site site = Site::current()) {
  return zeros_of_shape(shape, std::move(options), site);
}

/// Returns ones (true), like `zeros`; not for strings. (tf.ones)
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

/// Returns zeros of the shape of `tensor`; a constant if the shape is known.
/// grads   none: the value of `tensor` does not matter     source  tf.zeros_like
Tensor zeros_like(const Operand& tensor, LikeOptions options = {}, Site site = Site::current());

/// Returns ones of the shape of `tensor`. (tf.ones_like)
Tensor ones_like(const Operand& tensor, LikeOptions options = {}, Site site = Site::current());

}  // namespace towerflow
