#include "ops/nn/pool.h"

#include <limits>

#include "ops/nn/pool_attrs.h"
#include "ops/reference/pool.h"
#include "tests/ops/nn/support.h"
#include "towerflow/tf.h"

namespace towerflow {
namespace {

using namespace testing;  // NOLINT

struct Case {
  Shape x;
  int window, stride;
  const char* padding;
};

const Case kCases[] = {
    {{3, 8, 8, 32}, 2, 2, "SAME"}, {{2, 9, 7, 5}, 2, 2, "SAME"},  {{2, 9, 7, 16}, 3, 2, "SAME"},
    {{2, 9, 7, 3}, 3, 1, "VALID"}, {{1, 5, 5, 1}, 2, 3, "VALID"}, {{0, 4, 4, 2}, 2, 2, "SAME"},
};

template <class T>
void check_values(const Case& c) {
  nn::PoolAttrs attrs;
  attrs.ksize = {1, c.window, c.window, 1};
  attrs.strides = {1, c.stride, c.stride, 1};
  attrs.padding = std::string(c.padding) == "SAME" ? Padding::same : Padding::valid;
  const PoolGeometry g = nn::pool_geometry(attrs, c.x);
  const Shape result{g.batch, g.rows.output, g.columns.output, g.channels};
  const Array x = random_array<T>(c.x, 1);
  Array largest(dtype_of<T>(), result), mean(dtype_of<T>(), result);
  reference::max_pool(g, x.template data<T>(), largest.template data<T>());
  reference::avg_pool(g, x.template data<T>(), mean.template data<T>());

  Graph graph;
  const auto guard = graph.as_default();
  const Tensor tx = tensor_of(x);
  const Tensor max = nn::max_pool(tx, c.window, c.stride, c.padding);
  const Tensor avg = nn::avg_pool(tx, {1, c.window, c.window, 1}, {c.stride, c.stride}, c.padding);
  CHECK(max.shape() == result);
  Session session(graph, no_folding_config());
  const auto [vmax, vavg] = session.run({max, avg});
  CHECK(vmax == largest);
  CHECK(vavg == mean);
}

TEST_CASE("pool: values against naive loops") {
  for (const Case& c : kCases) {
    CAPTURE(c.x.text());
    check_values<float>(c);
    check_values<double>(c);
  }
}

TEST_CASE("max_pool: integers, and NaN that never wins") {
  Graph graph;
  const auto guard = graph.as_default();
  Session session(graph, no_folding_config());
  const Array x = Array::of<std::int32_t>({1, 2, 2, 1}, std::vector<std::int32_t>{-4, -2, -9, -3});
  CHECK(session.run(nn::max_pool(x, 2, 2, "VALID")).item<std::int32_t>() == -2);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Array y = Array::of<float>({1, 2, 2, 1}, std::vector<float>{nan, 1, nan, -3});
  CHECK(session.run(nn::max_pool(y, 2, 2, "VALID")).item<float>() == 1.0f);
}

TEST_CASE("pool: names and errors") {
  Graph graph;
  const auto guard = graph.as_default();
  const Array x = random_array<float>({2, 8, 8, 3}, 1);
  CHECK(nn::max_pool(x, 2, 2, "SAME").op().input(0).name() == "MaxPool/input:0");
  CHECK(nn::avg_pool(x, 2, 2, "SAME").op().input(0).name() == "AvgPool/value:0");
  CHECK(nn::max_pool(x, 2, 2, "SAME", {.name = "pool1"}).name() == "pool1:0");
  check_error<ValueError>(
      [&] {
        nn::max_pool(x, {1, 9, 9, 1}, 2, "VALID");
      },
      "Negative dimension size caused by subtracting 9 from 8");
  check_error<ValueError>(
      [&] {
        nn::max_pool(random_array<float>({8, 8, 3}, 1), 2, 2, "VALID");
      },
      "must be rank 4 but is rank 3");
  check_error<ValueError>(
      [&] {
        nn::max_pool(x, {2, 2, 1}, 2, "VALID");
      },
      "ksize should be of length 1, 2 or 4");
  check_error<ValueError>(
      [&] {
        nn::max_pool(x, {1, 0, 2, 1}, 2, "VALID");
      },
      "`ksize` cannot be zero");
  check_error<ValueError>([&] { nn::max_pool(x, -2, 2, "VALID"); }, "Window must be > 0");
  check_error<ValueError>([&] { nn::max_pool(x, 2, 0, "VALID"); }, "Stride must be > 0");
  check_error<ValueError>([&] { nn::max_pool(x, 2, 2, "FULL"); }, "passed string 'FULL'");
  check_error<ValueError>(
      [&] {
        nn::max_pool(x, {2, 2, 2, 1}, 2, "VALID");
      },
      "batch or the channels");
}

TEST_CASE("the gradient of max_pool_with_argmax takes no index beyond its image") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = ones({2, 2, 2, 1});
  const auto pooled = nn::max_pool_with_argmax(x, {1, 2, 2, 1}, {1, 2, 2, 1}, "VALID");
  const Tensor dx = convert_to_tensor(*gradients(pooled.output, {x})[0]);
  Session session(graph);
  const auto run = [&](std::vector<std::int64_t> places) {
    return session.run(dx, {{pooled.argmax, Array::of<std::int64_t>(Shape{2, 1, 1, 1}, places)}});
  };
  const Array found = run({3, 0});
  CHECK(found.data<float>()[3] == 1);
  CHECK(found.data<float>()[4] == 1);
  for (const std::int64_t place : {-1, 4, 99}) {
    CHECK_THROWS_AS(run({0, place}), errors::InvalidArgumentError);
  }
}

}  // namespace
}  // namespace towerflow
