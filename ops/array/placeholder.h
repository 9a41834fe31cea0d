#pragma once

#include <concepts>
#include <initializer_list>
#include <string>
#include <utility>

#include "core/graph/operand.h"

namespace towerflow {

struct PlaceholderOptions {
  ByName by_name = ByName();
  Shape shape = Shape::unknown();
  std::string name{};
};

/// Makes a tensor that must be fed when the graph runs: `sess.run(y, {{x, value}})`.
///
/// shapes   `shape`, which a fed value must be compatible with     dtypes  all
/// grads    none: it has no inputs
/// errors   InvalidArgumentError if it is run without being fed
/// source   tf.placeholder
/// (A template, so that {} selects the overload with a shape.)
template <class = void>
Tensor placeholder(DType dtype, PlaceholderOptions options = {}, Site site = Site::current());
/// With the shape second, as in TensorFlow: placeholder(float32, {None, 784}); {} is a scalar.
Tensor placeholder(DType dtype, std::initializer_list<Dim> shape, PlaceholderOptions options = {},
                   Site site = Site::current());
template <std::same_as<Shape> T>
Tensor placeholder(DType dtype, const T& shape, PlaceholderOptions options = {},
                   Site site = Site::current()) {
  options.shape = shape;
  return placeholder(dtype, std::move(options), site);
}

}  // namespace towerflow
