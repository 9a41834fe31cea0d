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

/// A tensor whose value is given when the graph runs: `sess.run(y, {{x, value}})`.
///
/// shapes   `shape`, a value must be compatible with it     dtypes  all
/// grads    none: nothing lies behind it
/// errors   InvalidArgumentError when it is run without being fed
/// source   tf.placeholder
/// (A template, so that {} is taken for the shape below.)
template <class = void>
Tensor placeholder(DType dtype, PlaceholderOptions options = {}, Site site = Site::current());
/// With the shape in TensorFlow's place for it: placeholder(float32, {None, 784}); {} is a scalar.
Tensor placeholder(DType dtype, std::initializer_list<Dim> shape, PlaceholderOptions options = {},
                   Site site = Site::current());
template <std::same_as<Shape> T>
Tensor placeholder(DType dtype, const T& shape, PlaceholderOptions options = {},
                   Site site = Site::current()) {
  options.shape = shape;
  return placeholder(dtype, std::move(options), site);
}

}  // namespace towerflow
