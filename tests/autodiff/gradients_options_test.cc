// Nodes that the options of gradients() create. Golden programs check the values.
#include <doctest/doctest.h>

#include "tests/support/eager.h"
#include "towerflow/tf.h"

using namespace towerflow;
using testing::numbers;

namespace {

bool has_node(const Graph& graph, const std::string& name) { return graph.name_in_use(name); }

std::vector<std::string> control_inputs(const Graph& graph, const std::string& name) {
  std::vector<std::string> names;
  for (const Operation& op : graph.get_operation_by_name(name).control_inputs()) {
    names.push_back(op.name());
  }
  return names;
}

}  // namespace

TEST_CASE("gate_gradients: each of an op's input gradients waits for all of them") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = constant({2.0f, 3.0f});
  const Tensor y = tf::multiply(x, x, {.name = "y"});
  const auto plain = gradients({y}, {x});
  CHECK_FALSE(has_node(graph, "gradients/y_grad/tuple/group_deps"));
  const auto gated = gradients({y}, {x}, {.gate_gradients = true});
  CHECK(control_inputs(graph, "gradients_1/y_grad/tuple/group_deps").size() == 2);
  CHECK(control_inputs(graph, "gradients_1/y_grad/tuple/control_dependency_1") ==
        std::vector<std::string>{"gradients_1/y_grad/tuple/group_deps"});
  CHECK(numbers(gated[0]->dense()) == numbers(plain[0]->dense()));
  // A single gradient has nothing to wait for.
  gradients({tf::negative(x, {.name = "n"})}, {x}, {.gate_gradients = true});
  CHECK_FALSE(has_node(graph, "gradients_2/n_grad/tuple/group_deps"));
}

TEST_CASE("aggregation_method: one sum for each device, or two at a time") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = constant({2.0f, 3.0f}, {.name = "x"});
  const Tensor y = x * x + x;
  const auto count = [&](const std::string& type) {
    int found = 0;
    for (const Operation& op : graph.get_operations()) found += op.type() == type;
    return found;
  };
  const auto at_once = gradients({y}, {x});
  CHECK(count("AddN") == 1);
  const auto in_turn =
      gradients({y}, {x}, {.aggregation_method = AggregationMethod::EXPERIMENTAL_TREE});
  CHECK(count("AddN") == 3);
  CHECK(has_node(graph, "gradients_1/x_gradient_sum/AddN_1"));
  CHECK(numbers(at_once[0]->dense()) == std::vector<double>{5, 7});
  CHECK(numbers(in_turn[0]->dense()) == std::vector<double>{5, 7});
  CHECK_THROWS_WITH_AS(
      gradients({y}, {x}, {.aggregation_method = static_cast<AggregationMethod>(7)}),
      doctest::Contains("aggregation_method"), ValueError);
}

TEST_CASE("aggregation: the parts on one device are added there first") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = constant(2.0f, {.name = "x"});
  std::vector<Tensor> parts;
  for (const char* where : {"/gpu:1", "/gpu:0", "/gpu:1"}) {
    const auto on = device(where);
    parts.push_back(tf::square(x));
  }
  const auto found = gradients({add_n(parts)}, {x}, {.colocate_gradients_with_ops = true});
  const Operation sum = found[0]->dense().op();
  REQUIRE(sum.num_inputs() == 2);
  CHECK(sum.input(0).device() == "/device:GPU:0");
  CHECK(sum.input(1).device() == "/device:GPU:1");
  CHECK(sum.input(1).op().type() == "AddN");
}

TEST_CASE("unconnected_gradients: zeros of the shape of x, of a variable that has no value yet") {
  Graph graph;
  const auto guard = graph.as_default();
  const Variable w = get_variable("w", Shape{2, 3});
  const Tensor fed = placeholder(DType::float32, {.shape = {None}});
  const Tensor y = constant(1.0f);
  const UnconnectedGradients zero = UnconnectedGradients::zero;
  const auto found = gradients({y}, {w, fed}, {.unconnected_gradients = zero});
  CHECK(found[0]->dense().name() == "zeros_like:0");  // outside the scope "gradients"
  CHECK(found[0]->dense().op().type() == "Const");
  CHECK(numbers(found[0]->dense()) == std::vector<double>(6, 0.0));
  CHECK(numbers(found[1]->dense(), {{fed, {1.0f, 2.0f}}}).size() == 2);
  CHECK_FALSE(gradients({y}, {w})[0]);
  CHECK(gradients(std::vector<Tensor>{}, {w}, {.unconnected_gradients = zero})[0]);
  CHECK_FALSE(gradients(std::vector<Tensor>{}, {w})[0]);
}

TEST_CASE("grad_ys: slices, wrong dtypes, wrong numbers") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = constant({{1.0f}, {2.0f}, {3.0f}});
  const Tensor y = x * 3.0f;
  const IndexedSlices slices{constant({{1.0f}, {1.0f}}), constant({2, 2}), constant({3, 1})};
  CHECK(numbers(convert_to_tensor(*gradients({y}, {x}, {.grad_ys = {slices}})[0])) ==
        std::vector<double>{0, 0, 6});
  const auto same = gradients({x}, {x}, {.grad_ys = {slices}});
  REQUIRE_FALSE(same[0]->is_dense());
  CHECK(same[0]->slices().values.name() == "gradients_1/grad_ys_0_values:0");
  CHECK_THROWS_AS(gradients({y}, {x}, {.grad_ys = {constant(1)}}), TypeError);
  CHECK_THROWS_AS(gradients({y > 0.0f}, {x}, {.grad_ys = {constant(true)}}), TypeError);
  CHECK_THROWS_WITH_AS(gradients({y}, {x}, {.grad_ys = {slices, slices}}),
                       doctest::Contains("Passed 2 grad_ys for 1 ys"), ValueError);
}

TEST_CASE("a default gradient has as much of a shape as its y") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = placeholder(float32, {.shape = {None, 5}});
  CHECK(gradients({x}, {x})[0]->dense().shape() == Shape{None, 5});
}

TEST_CASE("tensors of several graphs are a ValueError that names one") {
  Graph graph, elsewhere;
  Tensor far;
  {
    const auto guard = elsewhere.as_default();
    far = constant(1.0f, {.name = "far"});
  }
  const auto guard = graph.as_default();
  const Tensor x = constant(1.0f);
  const Tensor y = x * 2.0f;
  const auto contains = doctest::Contains("far:0 must be from the same graph");
  CHECK_THROWS_WITH_AS(gradients({y}, {far}), contains, ValueError);
  CHECK_THROWS_WITH_AS(gradients({y}, {x}, {.stop_gradients = {far}}), contains, ValueError);
  CHECK_THROWS_WITH_AS(gradients({y}, {x}, {.grad_ys = {far}}), contains, ValueError);
  CHECK_THROWS_AS(gradients({y, far}, {x}), ValueError);
}

TEST_CASE("the default graph does not matter: the nodes stand beside ys") {
  Graph graph, elsewhere;
  Tensor x, y;
  {
    const auto guard = graph.as_default();
    x = constant(1.0f);
    y = x * 2.0f;
  }
  const auto guard = elsewhere.as_default();
  CHECK(&gradients({y}, {x})[0]->dense().graph() == &graph);
  CHECK(elsewhere.size() == 0);
}

TEST_CASE("slices of as many rows as are fed have known columns") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor table = tf::zeros({5, 2});
  const Tensor ids = tf::placeholder(DType::int32, {.shape = {None, 3}});
  const Gradient found = *gradients({gather(table, ids)}, {table})[0];
  CHECK(found.slices().values.shape() == Shape{None, 2});
  CHECK(convert_to_tensor(found).shape() == Shape{5, 2});
}

TEST_CASE("slices stay slices through sums, signs and casts, and are made dense elsewhere") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = constant({{1.0f, -2.0f}, {3.0f, 4.0f}, {5.0f, 6.0f}});
  const Tensor row = constant({1.0f, 1.0f});
  const auto slope = [&](const Tensor& y) { return *gradients({gather(y, {2, 2})}, {x})[0]; };
  const auto is = [&](const Gradient& found, bool dense, const std::vector<double>& wanted) {
    CHECK(found.is_dense() == dense);
    CHECK(numbers(convert_to_tensor(found)) == wanted);
  };
  const std::vector<double> plus{0, 0, 0, 0, 2, 2}, minus{0, 0, 0, 0, -2, -2};
  is(slope(x + row), false, plus);
  is(slope(row - x), false, minus);
  is(slope(-x), false, minus);
  is(slope(tf::cast(tf::cast(x, DType::float64), DType::float32)), false, plus);
  is(slope(add_n({x})), false, plus);
  is(slope(concat({x}, 0)), false, plus);
  is(slope(concat({ones_like(x), x}, 1)), false, plus);
  is(slope(concat({x, x}, 0)), true, plus);
  is(slope(x * 1.0f), true, plus);
  is(slope(nn::relu(x)), true, plus);
  is(slope(nn::bias_add(x, row)), false, plus);
  // If x itself is repeated, rows are added up.
  const Tensor one = constant({{1.0f, 2.0f}});
  is(*gradients({gather(one + x, {0, 2})}, {one})[0], true, {2, 2});
  CHECK_NOTHROW(slope(nn::softmax(x)));
}
