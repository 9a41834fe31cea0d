#include <doctest/doctest.h>

#include <limits>

#include "towerflow/tf.h"

namespace towerflow {
namespace {

template <class T>
void check_wrapping() {
  const T most = std::numeric_limits<T>::max(), least = std::numeric_limits<T>::min();
  Graph graph;
  const auto guard = graph.as_default();
  const Variable v(Array::of<T>({2}, std::vector<T>{most, least}), {.name = "v"});
  const Tensor one = constant(Array::of<T>({2}, std::vector<T>{1, 1}));
  Session session;
  const auto is = [&](const Tensor& value, T first, T second) {
    CHECK(session.run(value) == Array::of<T>({2}, std::vector<T>{first, second}));
  };
  session.run(global_variables_initializer());
  is(assign_add(v, one), least, static_cast<T>(least + 1));
  is(assign_sub(v, one), most, least);
  is(scatter_add(v, {0, 1}, one), least, static_cast<T>(least + 1));
  is(scatter_sub(v, {0, 1}, one), most, least);
  is(assign_sub(v, constant(Array::of<T>({2}, std::vector<T>{most, 1}))), 0, most);
}

TEST_CASE("integers that a variable is changed by wrap around") {
  check_wrapping<std::int8_t>();
  check_wrapping<std::int32_t>();
  check_wrapping<std::int64_t>();
}

}  // namespace
}  // namespace towerflow
