#pragma once

#include <vector>

#include "core/runtime/session.h"

/// Small graphs that run at once, for tests of ops.
namespace towerflow::testing {

/// The value of a tensor of a graph that needs no variables.
inline Array value_of(const Tensor& tensor, const Feeds& feeds = {}) {
  Session session(tensor.graph());
  return session.run(tensor, feeds);
}

/// The elements of a numeric or bool Array.
inline std::vector<double> numbers(const Array& array) {
  std::vector<double> values;
  dispatch_dtype(array.dtype(), [&]<class T>() {
    for (std::int64_t i = 0; i < array.elements(); ++i) {
      values.push_back(static_cast<double>(array.data<T>()[i]));
    }
  });
  return values;
}
inline std::vector<double> numbers(const Tensor& tensor, const Feeds& feeds = {}) {
  return numbers(value_of(tensor, feeds));
}

/// An Array of `dtype` from numbers.
inline Array array_of(DType dtype, const Shape& shape, const std::vector<double>& values) {
  Array array(dtype, shape);
  dispatch_dtype(dtype, [&]<class T>() {
    for (std::size_t i = 0; i < values.size(); ++i) {
      array.data<T>()[i] = static_cast<T>(values[i]);
    }
  });
  return array;
}

}  // namespace towerflow::testing
