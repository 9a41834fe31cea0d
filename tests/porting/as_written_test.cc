// Calls written as in Python compile and behave as in Python.
#include <towerflow/tf.h>

#include <doctest/doctest.h>

#include <cmath>
#include <sstream>
#include <string>
#include <vector>

namespace {

template <class T>
std::string printed(const T& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

}  // namespace

TEST_CASE("start_queue_runners takes the coordinator by its place") {
  tf::Graph graph;
  const auto scope = graph.as_default();
  const auto queue =
      tf::train::string_input_producer({"a", "b"}, {.num_epochs = 1, .shuffle = false});
  const tf::Tensor next = queue.dequeue()[0];
  tf::Session sess;
  sess.run(tf::local_variables_initializer());
  tf::train::Coordinator coord;
  const auto threads = tf::train::start_queue_runners(sess, coord);
  CHECK(threads.size() == 2);  // one enqueues, one waits for the stop
  CHECK(sess.run(next).item<std::string>() == "a");
  CHECK(sess.run(next).item<std::string>() == "b");
  bool ended = false;
  try {
    sess.run(next);
  } catch (const tf::OutOfRangeError&) {
    ended = true;
  }
  CHECK(ended);
  coord.request_stop();
  coord.join(threads);
}

TEST_CASE("errors are found without the name of TensorFlow's module") {
  CHECK(std::is_same_v<tf::OutOfRangeError, tf::errors::OutOfRangeError>);
  CHECK(std::is_same_v<tf::InvalidArgumentError, tf::errors::InvalidArgumentError>);
  CHECK(std::is_same_v<tf::OpError, tf::errors::OpError>);
}

TEST_CASE("constant_initializer of lists and arrays") {
  tf::Graph graph;
  const auto scope = graph.as_default();
  auto made = [n = 0](tf::Initializer initializer, tf::VariableShape shape) mutable {
    return tf::get_variable("w" + std::to_string(n++), shape, {.initializer = initializer});
  };
  const std::vector<float> values = {1, 2, 3, 4};
  const tf::Array square = tf::Array::of<float>({2, 2}, values);
  const std::vector<tf::Variable> all = {
      made(tf::constant_initializer(square), {2, 2}),
      made(tf::constant_initializer(tf::Array::of<double>({4}, {1, 2, 3, 4})), {2, 2}),
      made(tf::constant_initializer({{1.0, 2.0}, {3.0, 4.0}}), {2, 2}),
      made(tf::constant_initializer(values), {2, 2})};
  const tf::Variable few =
      made(tf::constant_initializer(tf::Array::of<float>({2}, {1, 2})), {2, 2});
  CHECK_THROWS_WITH_AS(made(tf::constant_initializer(square), {3}),
                       doctest::Contains("Too many elements provided. Takes at most 3, but got 4."),
                       tf::ValueError);
  tf::Session sess;
  sess.run(tf::global_variables_initializer());
  for (const tf::Variable& w : all) CHECK(sess.run(w) == square);
  CHECK(sess.run(few) == tf::Array::of<float>({2, 2}, {1, 2, 2, 2}));
}

TEST_CASE("vectors of vectors are fed") {
  tf::Graph graph;
  const auto scope = graph.as_default();
  const tf::Tensor x = tf::placeholder(tf::float32, {tf::None, 2});
  const tf::Tensor y = x * 2.0;
  tf::Session sess;
  const std::vector<std::vector<float>> rows = {{1, 2}, {3, 4}};
  CHECK(sess.run(y, {{x, rows}}) == tf::Array::of<float>({2, 2}, {2, 4, 6, 8}));
  CHECK(sess.run(tf::constant(std::vector<std::vector<int>>{{1}, {2}})) ==
        tf::Array::of<std::int32_t>({2, 1}, {1, 2}));
  const std::vector<std::vector<float>> ragged = {{1, 2}, {3}};
  CHECK_THROWS_WITH_AS(
      sess.run(y, {{x, ragged}}),
      doctest::Contains("nested values are ragged: a list of 1 where others differ"),
      tf::ValueError);
}

TEST_CASE("a dimension is a number") {
  tf::Graph graph;
  const auto scope = graph.as_default();
  const tf::Tensor x = tf::placeholder(tf::float32, {tf::None, 28});
  const int n = x.shape()[1];
  CHECK(n == 28);
  CHECK(x.shape()[1] * 2 == 56);
  CHECK(x.get_shape()[-1] == 28);
  CHECK(28 == x.shape()[1]);
  CHECK(x.shape()[1] != 27);
  CHECK(x.shape()[1] > 27);
  CHECK(x.shape()[0] != -2);
  CHECK(x.shape()[0] == tf::None);
  CHECK(!std::is_convertible_v<tf::Dim, bool>);
  CHECK(!std::is_constructible_v<bool, tf::Dim>);
  CHECK(printed(x.shape()[0]) == "?");
  CHECK(printed(x.shape()[1]) == "28");
  CHECK(printed(x.shape()) == "(?, 28)");
  CHECK_THROWS_WITH_AS(static_cast<void>(static_cast<int>(x.shape()[0])),
                       doctest::Contains("an unknown dimension has no size"), tf::TypeError);
}

TEST_CASE("x += y stands for a new tensor") {
  tf::Graph graph;
  const auto scope = graph.as_default();
  const tf::Tensor x = tf::constant(6.0f);
  tf::Tensor y = x;
  y += 2.0;
  CHECK(y.name() == "add:0");
  CHECK(y.op().site().line == __LINE__ - 2);
  y *= x;
  y -= 8.0;
  y /= 4.0;
  y %= 7.0;
  tf::Session sess;
  CHECK(sess.run(y).item<float>() == 3.0f);
  CHECK(sess.run(x).item<float>() == 6.0f);
}

TEST_CASE("arrays are printed as NumPy prints them") {
  const auto array = [](tf::Shape shape, const std::vector<float>& values) {
    return printed(tf::Array::of<float>(shape, values));
  };
  CHECK(array({2, 2}, {1.5f, -2.25f, 3, 400}) == "[[  1.5   -2.25]\n [  3.   400.  ]]");
  CHECK(array({3}, {1e10f, 1, 0}) == "[1.e+10 1.e+00 0.e+00]");
  CHECK(array({3}, {0.1f, 1.0f / 3, 123.456f}) == "[1.0000000e-01 3.3333334e-01 1.2345600e+02]");
  CHECK(array({4}, {NAN, INFINITY, -INFINITY, 1.25f}) == "[ nan  inf -inf 1.25]");
  CHECK(array({1, 2, 1}, {1, 2}) == "[[[1.]\n  [2.]]]");
  CHECK(array({}, {1}) == "1.0");
  CHECK(array({}, {1e20f}) == "1e+20");
  CHECK(array({0, 3}, {}) == "[]");
  std::vector<std::int32_t> many(1001);
  for (int i = 0; i < 1001; ++i) many[i] = i;
  CHECK(printed(tf::Array::of<std::int32_t>({1001}, many)) ==
        "[   0    1    2 ...  998  999 1000]");
  many.resize(30);
  CHECK(printed(tf::Array::of<std::int32_t>({30}, many)) ==
        "[ 0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15 16 17 18 19 20 21 22 23\n"
        " 24 25 26 27 28 29]");
  CHECK(printed(tf::Array::of<std::string>({2}, {"a", "bc"})) == "['a' 'bc']");
  CHECK(printed(tf::Array::scalar(true)) == "True");
}

TEST_CASE("a reduction is told by its older names too") {
  tf::Graph graph;
  const auto scope = graph.as_default();
  const tf::Tensor x = tf::constant({{1.0, 2.0}, {3.0, 4.0}});
  tf::Session sess;
  CHECK(sess.run(tf::reduce_sum(x, 1, {.keep_dims = true})) ==
        tf::Array::of<float>({2, 1}, {3, 7}));
  CHECK(sess.run(tf::reduce_mean(x, {.reduction_indices = {0}})) ==
        tf::Array::of<float>({2}, {2, 3}));
  CHECK(tf::nn::moments(x, {0}, {.keep_dims = true}).mean.shape() == tf::Shape{1, 2});
  CHECK_THROWS_WITH_AS(tf::reduce_sum(x, 1, {.keepdims = true, .keep_dims = true}),
                       doctest::Contains("Cannot specify both 'keep_dims' and 'keepdims'."),
                       tf::ValueError);
  CHECK_THROWS_WITH_AS(tf::reduce_max(x, 1, {.reduction_indices = 1}),
                       doctest::Contains("Cannot specify both 'reduction_indices' and 'axis'."),
                       tf::ValueError);
}
