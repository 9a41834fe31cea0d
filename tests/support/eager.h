#pragma once

#include <algorithm>
#include <vector>

#include "core/runtime/session.h"

/// Functions to run small graphs immediately in tests of ops.
namespace towerflow::testing {

/// Returns the value of a tensor that depends on no variables.
inline Array value_of(const Tensor& tensor, const Feeds& feeds = {}) {
  Session session(tensor.graph());
  return session.run(tensor, feeds);
}

/// Returns the elements of a numeric or bool Array.
inline std::vector<double> numbers(const Array& array) {
  std::vector<double> values;
  dispatch_dtype(array.dtype(), [&]<class T>() {
    for (const T& value : array.flat<T>()) values.push_back(static_cast<double>(value));
  });
  return values;
}
inline std::vector<double> numbers(const Tensor& tensor, const Feeds& feeds = {}) {
  return numbers(value_of(tensor, feeds));
}

/// Returns an Array of `dtype` with these elements.
inline Array array_of(DType dtype, const Shape& shape, const std::vector<double>& values) {
  Array array(dtype, shape);
  dispatch_dtype(dtype, [&]<class T>() {
    std::transform(values.begin(), values.end(), array.data<T>(),
                   [](double value) { return static_cast<T>(value); });
  });
  return array;
}

}  // namespace towerflow::testing
