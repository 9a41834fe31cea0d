// Arguments that are refused. Golden programs compare names and numbers with TensorFlow's.
#include <doctest/doctest.h>

#include <cmath>

#include "towerflow/tf.h"

namespace towerflow {
namespace {

void check_refused(const VarianceScalingOptions& options, const std::string& part) {
  CAPTURE(part);
  try {
    variance_scaling_initializer(options);
    FAIL_CHECK("no error");
  } catch (const ValueError& error) {
    CHECK(error.message().find(part) != std::string::npos);
  }
}

}  // namespace

TEST_CASE("variance scaling: what it refuses") {
  check_refused({.scale = 0}, "`scale` must be a positive float. Received: 0");
  check_refused({.scale = -1.5}, "Received: -1.5");
  check_refused({.scale = std::nan("")}, "Received: nan");
  check_refused({.mode = "FAN_IN"}, "Received: FAN_IN");
  check_refused({.distribution = "Gauss"}, "Received: gauss");
}

TEST_CASE("variance scaling: another spread for each shape") {
  Graph graph;
  const auto guard = graph.as_default();
  const auto largest = [](const Shape& shape, const std::string& name) {
    return reduce_max(
        abs(get_variable(name, shape, {.initializer = initializers::he_uniform({.seed = 1})})));
  };
  const Tensor wide = largest({600, 2}, "wide"), narrow = largest({6, 200}, "narrow");
  Session session(graph);
  session.run(global_variables_initializer());
  CHECK(session.run(wide).item<float>() <= 0.1f);  // sqrt(6 / 600)
  CHECK(session.run(wide).item<float>() > 0.09f);
  CHECK(session.run(narrow).item<float>() <= 1.0f);
  CHECK(session.run(narrow).item<float>() > 0.9f);
}

}  // namespace towerflow
