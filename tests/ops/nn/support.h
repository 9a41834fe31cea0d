#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "core/graph/constant.h"
#include "core/graph/graph.h"
#include "core/runtime/session.h"

/// Helpers for tests of ops/nn.
namespace towerflow::testing {

/// Returns random numbers in -1 .. 1, the same for the same seed.
template <class T>
Array random_array(const Shape& shape, unsigned seed) {
  std::mt19937_64 engine(seed);
  Array array(dtype_of<T>(), shape);
  // std::uniform_real_distribution takes two logarithms per number.
  std::generate_n(array.data<T>(), array.elements(),
                  [&] { return static_cast<T>(0x1p-63 * static_cast<double>(engine()) - 1); });
  return array;
}

/// Returns the values converted to another element type.
template <class To, class From>
Array converted(const Array& from) {
  Array to(dtype_of<To>(), from.shape());
  std::copy_n(from.data<From>(), from.elements(), to.data<To>());
  return to;
}

/// Returns a Const, which may be fed.
inline Tensor tensor_of(const Array& value, const std::string& name = "input") {
  return make_constant(get_default_graph(), value, name, Site::current());
}

/// Returns the norm of the difference divided by the norm of `b`, computed in float64.
template <class A, class B>
double relative_error(const Array& a, const Array& b) {
  REQUIRE(a.shape() == b.shape());
  double difference = 0, norm = 0;
  const auto left = a.flat<A>();
  const auto right = b.flat<B>();
  for (std::size_t i = 0; i < left.size(); ++i) {
    const double x = static_cast<double>(left[i]), y = static_cast<double>(right[i]);
    difference += (x - y) * (x - y);
    norm += y * y;
  }
  return std::sqrt(difference) / std::max(std::sqrt(norm), 1e-30);
}

/// Checks that `call` throws an E whose text contains `part`.
template <class E, class Call>
void check_error(Call call, const std::string& part) {
  try {
    call();
    FAIL_CHECK("no error, expected: " << part);
  } catch (const E& error) {
    CHECK_MESSAGE(std::string(error.what()).find(part) != std::string::npos, error.what());
  }
}

/// Returns the config of a session without constant folding, so that its kernels run.
inline ConfigProto no_folding_config() {
  ConfigProto config;
  config.passes.fold_constants = false;
  return config;
}

}  // namespace towerflow::testing
