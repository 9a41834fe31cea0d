// Shapes known only at run time, checked against those that the graph declares.
#include <doctest/doctest.h>

#include <numeric>

#include "towerflow/tf.h"

using namespace towerflow;

namespace {

template <class T>
std::vector<T> values_of(const Array& array) {
  return {array.data<T>(), array.data<T>() + array.elements()};
}

Array counted(const Shape& shape) {
  Array array(DType::float32, shape);
  std::iota(array.data<float>(), array.data<float>() + array.elements(), 0.0F);
  return array;
}

Array flags(int elements, int set) {
  Array array(DType::bool_, Shape{elements});
  for (int i = 0; i < elements; ++i) array.data<bool>()[i] = i < set;
  return array;
}

}  // namespace

TEST_CASE("a shape that was promised has to hold, whatever finds the real one") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = tf::placeholder(tf::float32, {.shape = {None, 3}});
  const Tensor mask = tf::placeholder(tf::bool_, {.shape = {None}});
  Tensor picked = tf::boolean_mask(x, mask);
  picked.set_shape({2, 3});
  Tensor places = tf::where(mask);
  places.set_shape({2, 1});
  const Tensor scaled = picked * 2.0 + 1.0, shifted = places + std::int64_t{1};
  Session session;
  const auto run = [&](const Tensor& fetch, int rows, int set) {
    return session.run(fetch, {{x, counted({rows, 3})}, {mask, flags(rows, set)}});
  };
  CHECK(values_of<float>(run(scaled, 4, 2)) == std::vector<float>{1, 3, 5, 7, 9, 11});
  CHECK(values_of<std::int64_t>(run(shifted, 4, 2)) == std::vector<std::int64_t>{1, 2});
  for (const int set : {0, 1, 3, 50'000}) {
    CAPTURE(set);
    for (const Tensor& fetch : {scaled, shifted}) {
      CHECK_THROWS_WITH_AS(run(fetch, std::max(set, 2), set), doctest::Contains("set_shape"),
                           errors::InvalidArgumentError);
    }
  }
}

TEST_CASE("a default that breaks the promise of its placeholder") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor held = tf::placeholder(tf::float32, {.shape = {None}});
  Tensor x = tf::placeholder_with_default(held, {None});
  x.set_shape({2});
  Session session;
  CHECK(session.run(x + 1.0, {{held, counted({2})}}).elements() == 2);
  CHECK_THROWS_AS(session.run(x + 1.0, {{held, counted({5000})}}), errors::InvalidArgumentError);
}

TEST_CASE("what is fed in the place of a constant decides on shapes") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = tf::constant({{0.0, 1.0, 2.0}, {3.0, 4.0, 5.0}});
  const auto sizes = [](std::initializer_list<int> list) {
    Array array(DType::int32, Shape{list.size()});
    std::copy(list.begin(), list.end(), array.data<std::int32_t>());
    return array;
  };
  const auto shape_of = [&](const Tensor& fetch, const Tensor& constant, Array fed) {
    Session session;
    return session.run(fetch, {{constant, std::move(fed)}}).shape();
  };
  const Tensor dims = tf::constant({3, 2});
  CHECK(shape_of(tf::fill(dims, 1.0), dims, sizes({5, 1})) == Shape{5, 1});
  CHECK(shape_of(tf::reshape(x, dims), dims, sizes({6, 1})) == Shape{6, 1});
  CHECK(shape_of(tf::tile(x, dims), dims, sizes({1, 2})) == Shape{2, 6});
  CHECK(shape_of(tf::reshape(x, dims) * 2.0, dims, sizes({1, 6})) == Shape{1, 6});
  CHECK_THROWS_AS(shape_of(tf::reshape(x, dims), dims, sizes({7, 1})),
                  errors::InvalidArgumentError);
  const Tensor size = tf::constant({1, 2});
  CHECK(shape_of(tf::slice(x, {0, 1}, size), size, sizes({2, 1})) == Shape{2, 1});
  const Tensor order = tf::constant({1, 0});
  CHECK(shape_of(tf::transpose(x, order), order, sizes({0, 1})) == Shape{2, 3});
  const Tensor axis = tf::constant(0);
  Array one(DType::int32, Shape{});
  *one.data<std::int32_t>() = 1;
  CHECK(shape_of(tf::reduce_sum(x, axis), axis, one) == Shape{2});
  CHECK(shape_of(tf::concat({x, x}, axis), axis, one) == Shape{2, 6});
  CHECK(shape_of(tf::expand_dims(x, axis), axis, one) == Shape{2, 1, 3});
}

TEST_CASE("a shape that folding finds has to fit those who read it") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor fed = tf::placeholder(tf::float32);
  const Tensor a = tf::constant({{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}});
  // Its shape is unknown to the graph, but constant once the shape of the feed is known.
  const Tensor found = tf::reshape(fed, tf::slice(tf::shape(fed), {0}, {-1}));
  const Tensor labels = tf::cast(tf::reshape(found, {-1}), tf::int32);
  const auto refused = [&](const Tensor& fetch, const Shape& shape) {
    CAPTURE(shape.text());
    Session session;
    CHECK_THROWS_AS(session.run(fetch, {{fed, counted(shape)}}), errors::InvalidArgumentError);
  };
  Session session;
  CHECK(session.run(a * found, {{fed, counted({2, 3})}}).data<float>()[5] == 30.0F);
  refused(a * found, {4, 5});
  refused(tf::add_n({a, found}), {4, 3});
  refused(tf::maximum(a, found), {5, 3});
  refused(tf::nn::bias_add(a, found), {1});
  refused(tf::where(tf::constant(true), a, found), {1, 3});
  refused(tf::nn::sparse_softmax_cross_entropy_with_logits({.labels = labels, .logits = a}), {1});
  const Tensor soft = tf::nn::softmax_cross_entropy_with_logits_v2({.labels = fed, .logits = a});
  refused(soft, {2, 4});
  CHECK(session.run(soft, {{fed, counted({2, 3})}}).elements() == 2);
}

TEST_CASE("more elements than memory has addresses") {
  Graph graph;
  const auto guard = graph.as_default();
  const std::int64_t large = std::int64_t{1} << 32;
  CHECK_THROWS_AS(Shape({large, large}).elements(), ValueError);
  CHECK_THROWS_AS(placeholder(float32, {.shape = {large, large}}), ValueError);
  CHECK_THROWS_AS(placeholder(float32, {.shape = {large, large, 0}}), ValueError);
  CHECK(tf::zeros({large + 7, 1}).shape() == Shape{large + 7, 1});
  CHECK_THROWS_AS(tf::zeros({large, large}), Error);
  CHECK_THROWS_AS(tf::tile(tf::ones({1, 1}), tf::constant(Array::of<std::int64_t>(
                                                 {2}, std::vector<std::int64_t>{large, large})))
                      .shape()
                      .elements(),
                  Error);
}
