// A callable that outlives its session and graph.
#include <doctest/doctest.h>

#include <optional>

#include "tests/support/eager.h"
#include "towerflow/tf.h"

using namespace towerflow;

TEST_CASE("a callable that outlives its session and graph says that the session is closed") {
  std::optional<Graph> graph(std::in_place);
  std::optional<Session> session;
  Callable doubled, fresh;
  {
    const auto guard = graph->as_default();
    const Tensor x = tf::placeholder(tf::float32, {.shape = {None}});
    const Tensor y = x * 2.0F;
    session.emplace();
    doubled = session->make_callable({y}, {x});
    fresh = session->make_callable({y}, {x});
  }
  const std::vector<Array> two{testing::array_of(float32, {2}, {1, 2})};
  CHECK(doubled(two)[0].data<float>()[1] == 4.0F);
  const std::vector<Array> three{Array::zeros(float32, {3})}, integers{Array::zeros(int32, {2})};
  session.reset();
  graph.reset();
  for (const Callable& callable : {doubled, fresh}) {
    for (const auto& values : {two, three, integers}) {
      CHECK_THROWS_WITH_AS(callable(values),
                           doctest::Contains("Attempted to use a closed Session."), RuntimeError);
    }
  }
}
