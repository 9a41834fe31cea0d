// Values that may be fed, and lists as arguments: of fetches, group, control inputs and gradients.
#include <doctest/doctest.h>

#include "core/graph/log.h"
#include "towerflow/tf.h"

using namespace towerflow;

TEST_CASE("an array of another dtype is cast to that of the tensor it is fed for") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = tf::placeholder(tf::float32, {.shape = {None}});
  const Tensor n = tf::placeholder(tf::int32, {.shape = {None}});
  const Tensor text = tf::placeholder(tf::string, {.shape = {None}});
  Session session;
  const Array wide = Array::of<double>({2}, std::vector<double>{1.5, -2.5});
  const Array bytes = Array::of<std::uint8_t>({2}, std::vector<std::uint8_t>{0, 255});
  CHECK(session.run(x, {{x, wide}}).data<float>()[1] == -2.5F);
  CHECK(session.run(x, {{x, bytes}}).data<float>()[1] == 255.0F);
  CHECK(session.run(n, {{n, wide}}).data<std::int32_t>()[1] == -2);
  CHECK_THROWS_WITH_AS(session.run(text, {{text, wide}}), doctest::Contains("string"), TypeError);
  const auto doubled = session.make_callable({x * 2.0}, {x});
  for (int i = 0; i < 2; ++i) CHECK(doubled({&bytes, 1})[0].data<float>()[1] == 510.0F);
  CHECK(doubled({&wide, 1})[0].data<float>()[0] == 3.0F);
}

TEST_CASE("a std::vector is fed") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = tf::placeholder(tf::float32, {.shape = {None}});
  Session session;
  const std::vector<float> values{1.0F, 2.0F, 4.0F};
  CHECK(session.run(tf::reduce_sum(x), {{x, values}}).item<float>() == 7.0F);
}

TEST_CASE("lists of tensors, variables and operations") {
  Graph graph;
  const auto guard = graph.as_default();
  const Variable w = tf::get_variable("w", {2}, {.initializer = tf::ones_initializer()});
  const Variable v = tf::get_variable("v", {2}, {.initializer = tf::ones_initializer()});
  const Tensor loss = tf::reduce_sum(w * w + 3.0 * v);
  const auto grads = tf::gradients(loss, tf::trainable_variables());
  REQUIRE(grads.size() == 2);
  const auto one = tf::gradients(loss, w);
  REQUIRE(one.size() == 1);
  Session session;
  session.run(tf::global_variables_initializer());
  const std::vector<Tensor> both{grads[0]->dense(), one[0]->dense()};
  const std::vector<Array> values = session.run(both);
  CHECK(values[0].data<float>()[1] == 2.0F);
  CHECK(values[1].data<float>()[1] == 2.0F);
  CHECK(session.run(tf::trainable_variables()).size() == 2);

  tf::add_to_collection("update_ops", tf::assign_add(w, tf::ones({2})));
  tf::add_to_collection("update_ops", tf::group({tf::assign_add(v, tf::ones({2}))}));
  const auto updates = tf::get_collection<Fetch>("update_ops");
  CHECK_THROWS_AS(tf::get_collection("update_ops"), TypeError);
  Operation done;
  {
    const auto wait = tf::control_dependencies(updates);
    done = tf::no_op();
  }
  session.run(done);
  session.run(tf::group(std::vector<Tensor>{tf::assign_add(w, tf::ones({2}))}));
  CHECK(session.run(w).data<float>()[0] == 3.0F);
  CHECK(session.run(v).data<float>()[0] == 2.0F);
}

TEST_CASE("a log sink that throws during the warning of many shapes fails no plan") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = tf::placeholder(tf::float32, {.shape = {None}});
  const Tensor y = x * 2.0F;
  Session session;
  int said = 0;
  const LogSink before = set_log_sink([&](LogLevel, std::string_view) {
    ++said;
    throw std::runtime_error("no room for logs");
  });
  for (std::int64_t size = 1; size <= 20; ++size) {
    CHECK_NOTHROW(session.run(y, {{x, Array::zeros(float32, {size})}}));
  }
  set_log_sink(before);
  CHECK(said == 1);
}

TEST_CASE("an absent gradient that is looked into says so") {
  Graph graph;
  const auto guard = graph.as_default();
  const Variable w = tf::get_variable("w", {2});
  const auto grads = tf::gradients(tf::constant(1.0), w);
  CHECK(!grads[0]);
  CHECK(grads[0] == std::nullopt);
  CHECK_THROWS_WITH_AS(grads[0]->dense(), doctest::Contains("why_none"), ValueError);
  CHECK_THROWS_AS(*grads[0], ValueError);
}

TEST_CASE("dimensions counted from the end") {
  const Shape shape{2, 8, 3};
  CHECK(shape[-1] == Dim(3));
  CHECK(shape.size(-3) == 2);
  CHECK_THROWS_WITH_AS(shape[3], doctest::Contains("(2, 8, 3)"), ValueError);
  CHECK_THROWS_AS(shape[-4], ValueError);
  CHECK(!Shape::unknown()[1].known());
  CHECK(Shape::unknown().size(5) == -1);
}
