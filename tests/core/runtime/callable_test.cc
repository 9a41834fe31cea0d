// A Callable: its results, results fed back to it, and calls after one that failed.
#include <doctest/doctest.h>

#include "towerflow/tf.h"

using namespace towerflow;

TEST_CASE("a callable is fed with what it returned") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = tf::placeholder(tf::float32, {.shape = {2}});
  Session session;
  const auto doubled = session.make_callable({x * 2.0}, {x});
  const Array first = Array::of<float>({2}, std::vector<float>{1, 2});
  std::span<const Array> values(&first, 1);
  for (const float expected : {4.0F, 8.0F, 16.0F}) {
    values = doubled(values);
    CHECK(values[0].data<float>()[1] == expected);
  }
  CHECK(first.data<float>()[1] == 2.0F);
}

TEST_CASE("a callable that cannot get its memory fails in each call") {
  Graph graph;
  const auto guard = graph.as_default();
  const Variable large = tf::get_variable("large", {std::int64_t{1} << 30, 1 << 12},
                                          {.initializer = tf::zeros_initializer()});
  Session session;
  const auto row = session.make_callable({tf::gather(large, tf::constant({0}))});
  for (int i = 0; i < 2; ++i) CHECK_THROWS_AS(row(), errors::ResourceExhaustedError);
}

TEST_CASE("a fetched feed is the caller's own array") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = tf::placeholder(tf::float32, {.shape = {4}});
  const Tensor same = tf::identity(x), square = tf::reshape(x, {2, 2});
  Session session;
  Array fed = Array::of<float>({4}, std::vector<float>{1, 2, 3, 4});
  const auto [whole, view] = session.run({same, square}, {{x, fed}});
  fed.data<float>()[0] = 99.0F;
  CHECK(whole.data<float>()[0] == 1.0F);
  CHECK(view.data<float>()[0] == 1.0F);
  CHECK(view.shape() == Shape{2, 2});
}
