// Descriptions of a graph's operations, and comparisons of towers.
#include <doctest/doctest.h>

#include <algorithm>

#include "towerflow/tf.h"

namespace towerflow {
namespace {

/// Builds two towers, of which the second has an operation that the first lacks.
void two_towers() {
  for (int tower = 0; tower < 2; ++tower) {
    const auto on = device("/gpu:" + std::to_string(tower));
    const auto name = name_scope("tower_" + std::to_string(tower));
    const auto net = variable_scope("net", {.reuse = tower > 0});
    const Variable w = get_variable("w", Shape{3, 2}, {.initializer = zeros_initializer()});
    const Tensor x = placeholder(DType::float32, {.shape = {4, 3}, .name = "x"});
    Tensor y = matmul(x, w, {.name = "y"});
    if (tower == 1) y = nn::relu(y, {.name = "more"});
    add_to_collection(GraphKeys::LOSSES, reduce_mean(y, {.name = "loss"}));
  }
}

bool has(const std::vector<std::string>& items, const std::string& item) {
  return std::find(items.begin(), items.end(), item) != items.end();
}

TEST_CASE("a description has scopes, device, collections, lines and the first reuse") {
  Graph graph;
  const auto as_default = graph.as_default();
  two_towers();
  const GraphDescription description = graph.describe();

  CHECK(description.ops().size() == graph.size());
  const OpDescription& y = description.op("tower_1/net/y");
  CHECK(y.type == "MatMul");
  CHECK(y.name_scope == "tower_1/net");
  CHECK(y.variable_scope == "net");
  CHECK(y.device == "/device:GPU:1");
  CHECK(y.inputs == std::vector<std::string>{"tower_1/net/x:0", "net/w/read:0"});
  CHECK(y.outputs == std::vector<std::string>{"float32 (4, 2)"});
  CHECK(std::string(y.site.file).ends_with("describe_test.cc"));
  CHECK(!y.first_reuse);

  const OpDescription& w = description.op("net/w");
  CHECK(w.outputs == std::vector<std::string>{"float32_ref (3, 2)"});
  CHECK(has(w.collections, "variables"));
  CHECK(has(w.collections, "trainable_variables"));
  REQUIRE(w.first_reuse);
  CHECK(w.first_reuse->line == w.site.line);  // the only get_variable call, in the loop
  CHECK(has(description.op("tower_0/net/loss").collections, "losses"));
  CHECK_THROWS_WITH_AS(description.op("tower_0/net/los"), doctest::Contains("'tower_0/net/loss'"),
                       KeyError);
}

TEST_CASE("the tree indents operations below their scopes") {
  Graph graph;
  const auto as_default = graph.as_default();
  two_towers();
  const std::string tree = graph.describe().tree("tower_1");
  CHECK(tree.starts_with("tower_1/\n  net/\n    x  Placeholder"));
  CHECK(tree.find("    more  Relu  float32 (4, 2)  on /device:GPU:1  variable scope net") !=
        std::string::npos);
  CHECK(tree.find("in losses") != std::string::npos);
  CHECK(tree.find("tower_0") == std::string::npos);
  const std::string whole = graph.describe().tree();
  CHECK(static_cast<std::size_t>(std::count(whole.begin(), whole.end(), '\n')) > graph.size());
}

TEST_CASE("DOT has each operation once, edges, and quotes what needs it") {
  Graph graph;
  const auto as_default = graph.as_default();
  two_towers();
  const Tensor a = constant(1.0, {.name = "a"});
  {
    const auto after = control_dependencies({Fetch(a)});
    constant(2.0, {.name = "b\\c"});
  }
  const std::string dot = graph.describe().dot();
  CHECK(dot.find("\"tower_0/net/x\" -> \"tower_0/net/y\";") != std::string::npos);
  CHECK(dot.find("\"a\" -> \"b\\\\c\" [style=dashed];") != std::string::npos);
  CHECK(dot.find("subgraph \"cluster_tower_1/net\"") != std::string::npos);
  std::size_t labels = 0;
  for (std::size_t at = dot.find(", fillcolor="); at != std::string::npos;
       at = dot.find(", fillcolor=", at + 1)) {
    ++labels;
  }
  CHECK(labels == graph.size());
  CHECK(std::count(dot.begin(), dot.end(), '{') == std::count(dot.begin(), dot.end(), '}'));
}

TEST_CASE("two towers side by side") {
  Graph graph;
  const auto as_default = graph.as_default();
  two_towers();
  const ScopeDifference difference = graph.describe().difference("tower_0", "tower_1/");
  CHECK(difference.only_a.empty());
  CHECK(difference.only_b == std::vector<std::string>{"net/more"});
  CHECK(difference.common_device_changes ==
        std::vector<std::string>{"device: /device:GPU:0 against /device:GPU:1"});
  REQUIRE(difference.changed.size() == 1);
  CHECK(difference.changed[0].name == "net/loss");
  CHECK(difference.changed[0].what.find("net/more:0") != std::string::npos);
  CHECK(!difference.same_structure());
  CHECK(difference.text().find("only in 'tower_1': net/more") != std::string::npos);
  CHECK_THROWS_WITH_AS(graph.describe().difference("tower_0", "towr_1"),
                       doctest::Contains("'tower_1'"), ValueError);
}

TEST_CASE("two towers side by side, without what compute_gradients and apply_gradients made") {
  Graph graph;
  const auto as_default = graph.as_default();
  train::GradientDescentOptimizer optimizer(0.1);
  for (int tower = 0; tower < 2; ++tower) {
    const auto scope = name_scope("tower_" + std::to_string(tower));
    const Variable w = get_variable("w", {2}, {.initializer = ones_initializer()});
    const Variable v = get_variable("v", {2}, {.initializer = ones_initializer()});
    get_variable_scope().reuse_variables();
    const Tensor loss = reduce_sum(w * v, {.name = "loss"});
    // The second tower trains only one of them, in an operation of another name.
    if (tower == 0) {
      optimizer.minimize(loss);
    } else {
      optimizer.apply_gradients(optimizer.compute_gradients(loss, {.var_list = {v}}),
                                {.name = "other"});
    }
  }
  const ScopeDifference difference = graph.describe().difference("tower_0", "tower_1");
  CAPTURE(difference.text());
  CHECK(difference.same_structure());
  CHECK(difference.in_both == 3);  // the product, the sum, and the sum's axes
  CHECK(difference.left_out > 10);
  CHECK(difference.text().find("gradients and updates") != std::string::npos);
}

}  // namespace
}  // namespace towerflow
