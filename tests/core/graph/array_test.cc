#include "core/graph/array.h"

#include <doctest/doctest.h>

namespace towerflow {
namespace {

template <class A>
concept HasElements = requires(A&& array) {
  static_cast<A&&>(array).template flat<float>();
};

TEST_CASE("Array: elements are those of an array that lives on") {
  CHECK(HasElements<Array&>);
  CHECK(HasElements<const Array&>);
  CHECK_FALSE(HasElements<Array>);
  const Array array = Array::of<float>({2}, std::vector<float>{1, 2});
  CHECK(array.flat<float>()[1] == 2.0F);
}

}  // namespace
}  // namespace towerflow
