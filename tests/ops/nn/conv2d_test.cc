#include "ops/nn/conv2d.h"

#include "ops/nn/bias_add.h"
#include "ops/nn/conv2d_attrs.h"
#include "ops/nn/relu.h"
#include "ops/reference/conv.h"
#include "ops/simd/loops.h"
#include "tests/ops/nn/support.h"

namespace towerflow {
namespace {

using namespace testing;  // NOLINT

struct Case {
  Shape x, filter;
  int stride;
  const char* padding;
};

const Case kCases[] = {
    {{2, 8, 9, 3}, {3, 3, 3, 4}, 1, "SAME"},   {{2, 8, 9, 3}, {3, 2, 3, 4}, 2, "VALID"},
    {{3, 7, 7, 16}, {5, 5, 16, 8}, 2, "SAME"}, {{1, 5, 5, 1}, {5, 5, 1, 2}, 1, "VALID"},
    {{0, 5, 5, 1}, {3, 3, 1, 2}, 1, "SAME"},
};

ConvGeometry geometry_of(const Case& c) {
  nn::Conv2DAttrs attrs;
  attrs.strides = {1, c.stride, c.stride, 1};
  attrs.padding = std::string(c.padding) == "SAME" ? Padding::same : Padding::valid;
  return nn::conv_geometry(attrs, c.x, c.filter);
}

Shape result_of(const ConvGeometry& g) {
  return {g.batch, g.rows.output, g.columns.output, g.out_channels};
}

Array sizes_of(const Shape& shape) {
  Array sizes(DType::int32, {4});
  for (std::size_t i = 0; i < 4; ++i)
    sizes.data<std::int32_t>()[i] = static_cast<std::int32_t>(shape.size(i));
  return sizes;
}

// Compares the three ops on random numbers with naive loops in float64.
template <class T>
void check_values(const Case& c, double tolerance) {
  const ConvGeometry g = geometry_of(c);
  const Array x = random_array<T>(c.x, 1), filter = random_array<T>(c.filter, 2);
  const Array dy = random_array<T>(result_of(g), 3);
  const Array x64 = converted<double, T>(x), filter64 = converted<double, T>(filter);
  const Array dy64 = converted<double, T>(dy);
  Array y64(DType::float64, result_of(g)), dx64(DType::float64, c.x);
  Array dfilter64(DType::float64, c.filter);
  reference::conv2d(g, x64.data<double>(), filter64.data<double>(),
                    static_cast<const double*>(nullptr), y64.data<double>());
  reference::conv2d_backprop_input(g, filter64.data<double>(), dy64.data<double>(),
                                   dx64.data<double>());
  reference::conv2d_backprop_filter(g, x64.data<double>(), dy64.data<double>(),
                                    dfilter64.data<double>(), static_cast<double*>(nullptr));

  Graph graph;
  const auto guard = graph.as_default();
  const Tensor tx = tensor_of(x), tf = tensor_of(filter), tdy = tensor_of(dy);
  const Tensor y = nn::conv2d(tx, tf, c.stride, c.padding);
  const Tensor dx = nn::conv2d_backprop_input(sizes_of(c.x), tf, tdy, c.stride, c.padding);
  const Tensor df = nn::conv2d_backprop_filter(tx, sizes_of(c.filter), tdy, c.stride, c.padding);
  CHECK(y.shape() == result_of(g));
  CHECK(dx.shape() == c.x);
  CHECK(df.shape() == c.filter);
  Session session(graph, no_folding_config());
  const auto [vy, vdx, vdf] = session.run({y, dx, df});
  CHECK(relative_error<T, double>(vy, y64) <= tolerance);
  CHECK(relative_error<T, double>(vdx, dx64) <= tolerance);
  CHECK(relative_error<T, double>(vdf, dfilter64) <= tolerance);
}

TEST_CASE("conv2d: values against naive loops") {
  for (const Case& c : kCases) {
    CAPTURE(c.x.text());
    CAPTURE(c.filter.text());
    check_values<float>(c, 1e-6);
    check_values<double>(c, 0.0);
  }
}

std::string session_report(Graph& graph, const Array& x, const Array& filter) {
  Session session(graph, no_folding_config());
  const Fetch y = nn::conv2d(tensor_of(x), tensor_of(filter), 1, "SAME");
  return session.plan_report({&y, 1});
}

TEST_CASE("conv2d: float32 runs on oneDNN, float64 on the reference") {
  Graph graph;
  const auto guard = graph.as_default();
  const auto single = session_report(graph, random_array<float>({1, 4, 4, 1}, 1),
                                     random_array<float>({3, 3, 1, 2}, 2));
  CHECK(single.find("Conv2D [oneDNN]") != std::string::npos);
  const auto twice = session_report(graph, random_array<double>({1, 4, 4, 1}, 1),
                                    random_array<double>({3, 3, 1, 2}, 2));
  CHECK(twice.find("Conv2D [reference]") != std::string::npos);
}

TEST_CASE("conv2d: Winograd's kernels where they pay, unless switched off") {
  if (!simd::loops().winograd.present) {
    MESSAGE("SKIPPED: no fused multiply-add");
    return;
  }
  for (const std::int64_t window : {3, 5}) {
    Graph graph;
    const auto guard = graph.as_default();
    const Shape filter_shape{window, window, 16, 32};
    const Array x = random_array<float>({8, 9, 8, 16}, 1),
                dy = random_array<float>({8, 9, 8, 32}, 3);
    const Array filter = random_array<float>(filter_shape, 2);
    const Tensor y = nn::conv2d(tensor_of(x), tensor_of(filter), 1, "SAME");
    const std::vector<Fetch> fetches{
        y,
        nn::conv2d_backprop_input(sizes_of(x.shape()), tensor_of(filter), tensor_of(dy), 1, "SAME"),
        nn::conv2d_backprop_filter(tensor_of(x), sizes_of(filter_shape), tensor_of(dy), 1, "SAME"),
        nn::relu(nn::bias_add(y, random_array<float>({32}, 4)))};
    ConfigProto direct = no_folding_config();
    direct.passes.choose_winograd = false;
    Session fast(graph, no_folding_config()), slow(graph, direct);
    const std::string report = fast.plan_report(fetches);
    for (const char* op : {"Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter"})
      CHECK(report.find(std::string(op) + " [winograd") != std::string::npos);
    const std::vector<Fetch> fused{fetches[3]};
    CHECK(fast.plan_report(fused).find("_FusedConv2D [winograd") != std::string::npos);
    CHECK(slow.plan_report(fused).find("_FusedConv2D [oneDNN") != std::string::npos);
    CHECK(slow.plan_report(fetches).find("winograd") == std::string::npos);
    const auto one = fast.run(fetches), other = slow.run(fetches);
    for (std::size_t i = 0; i < one.size(); ++i)
      CHECK(relative_error<float, float>(one[i], other[i]) < 5e-6);
    const Array few = random_array<float>({1, 23, 22, 16}, 1);
    CHECK(session_report(graph, few, filter).find("[oneDNN") != std::string::npos);
  }
}

TEST_CASE("conv2d: integers are exact") {
  Graph graph;
  const auto guard = graph.as_default();
  const Array x = Array::of<std::int32_t>({1, 2, 2, 1}, std::vector<std::int32_t>{1, 2, 3, 4});
  const Array filter =
      Array::of<std::int32_t>({2, 2, 1, 1}, std::vector<std::int32_t>{1, 10, 100, 1000});
  Session session(graph);
  const Array y = session.run(nn::conv2d(x, filter, 1, "VALID"));
  CHECK(y.item<std::int32_t>() == 1 + 20 + 300 + 4000);
}

TEST_CASE("conv2d: names and helper constants") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = tensor_of(random_array<float>({2, 8, 8, 3}, 1), "x");
  const Tensor y = nn::conv2d(x, {{{{1.0}, {1.0}, {1.0}}}}, {1, 1, 1, 1}, "SAME", {.name = "c"});
  CHECK(y.name() == "c:0");
  CHECK(y.op().type() == "Conv2D");
  CHECK(y.op().input(1).name() == "c/filter:0");
  CHECK(nn::conv2d(x, y.op().input(1), 2, "VALID").name() == "Conv2D:0");
}

TEST_CASE("conv2d: errors") {
  Graph graph;
  const auto guard = graph.as_default();
  const auto conv = [](const Shape& x, const Shape& filter, const nn::Extents& strides,
                       const std::string& padding, nn::Conv2DOptions options = {}) {
    return [=] {
      nn::conv2d(random_array<float>(x, 1), random_array<float>(filter, 2), strides, padding,
                 options);
    };
  };
  const Shape x{2, 8, 8, 3}, w{3, 3, 3, 4};
  check_error<ValueError>(conv(x, w, 1, "same"), "passed string 'same'");
  check_error<ValueError>(conv(x, {3, 3, 4, 4}, 1, "SAME"),
                          "Depth of input (3) is not a multiple of input depth of filter (4)");
  check_error<ValueError>(conv(x, {3, 3, 0, 4}, 1, "SAME"), "Depth of filter must not be 0");
  check_error<ValueError>(conv({8, 8, 3}, w, 1, "SAME"), "must be rank 4 but is rank 3");
  check_error<ValueError>(conv(x, {3, 3, 3}, 1, "SAME"), "must be rank 4 but is rank 3");
  check_error<ValueError>(conv(x, {9, 9, 3, 4}, 1, "VALID"),
                          "Negative dimension size caused by subtracting 9 from 8");
  check_error<ValueError>(conv(x, {0, 3, 3, 4}, 1, "SAME"), "Window must be > 0");
  check_error<ValueError>(conv(x, w, {2, 1, 1}, "SAME"), "strides should be of length 1, 2 or 4");
  check_error<ValueError>(conv(x, w, {1, 0, 0, 1}, "SAME"), "Stride must be > 0, but got 0");
  check_error<ValueError>(conv(x, w, -1, "SAME"), "Stride must be > 0, but got -1");
  check_error<ValueError>(conv(x, w, {2, 1, 1, 1}, "SAME"), "batch and depth");
  check_error<ValueError>(conv(x, w, 1, "SAME", {.data_format = "XX"}), "passed string 'XX'");
  check_error<ValueError>(conv(x, w, 1, "SAME", {.dilations = {0}}), "Dilations must be > 0");
  check_error<TypeError>(
      [] {
        nn::conv2d(Array::zeros(DType::int64, {1, 4, 4, 1}),
                   Array::zeros(DType::int64, {3, 3, 1, 1}), 1, "SAME");
      },
      "DataType int64 not in list of allowed values");
  check_error<TypeError>(
      [] {
        nn::conv2d(tensor_of(random_array<float>({1, 4, 4, 1}, 1)),
                   tensor_of(random_array<double>({3, 3, 1, 1}, 1)), 1, "SAME");
      },
      "does not match type float32 of argument 'input'");
}

TEST_CASE("conv2d: errors of the gradients' ops") {
  Graph graph;
  const auto guard = graph.as_default();
  const Array w = random_array<float>({3, 3, 3, 4}, 1), dy = random_array<float>({2, 8, 8, 4}, 2);
  check_error<ValueError>(
      [&] {
        nn::conv2d_backprop_input({2, 8, 8}, w, dy, 1, "SAME");
      },
      "4 numbers, not 3");
  check_error<ValueError>(
      [&] {
        nn::conv2d_backprop_input({2, 9, 8, 3}, w, dy, 1, "SAME");
      },
      "out_backprop must have the shape (2, 9, 8, 4)");
  check_error<ValueError>(
      [&] {
        nn::conv2d_backprop_input({-2, 8, 8, 3}, w, dy, 1, "SAME");
      },
      "Size -2 must not be negative");
  check_error<ValueError>(
      [&] {
        nn::conv2d_backprop_filter(dy, {3, 3, 4, 5}, dy, 1, "SAME");
      },
      "out_backprop must have the shape (2, 8, 8, 5)");
}

}  // namespace
}  // namespace towerflow
