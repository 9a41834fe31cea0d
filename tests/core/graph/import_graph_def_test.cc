// Graphs that are exported as NodeDefs and imported again, and GraphDefs that are refused.
#include <doctest/doctest.h>

#include <algorithm>

#include "core/graph/graph_def.h"
#include "tests/support/error_text.h"
#include "tests/support/imported_nodes.h"
#include "towerflow/tf.h"

using namespace towerflow;
using testing::error_text;

namespace {

NodeDef constant_def(const std::string& name) {
  return {name, "Const", {}, "", {{"dtype", DType::float32}, {"value", Array::scalar(1.0F)}}};
}
NodeDef negative_def(const std::string& name, std::vector<std::string> input) {
  return {name, "Neg", std::move(input), "", {{"T", DType::float32}}};
}

/// Builds a graph with a variable, its update, devices, control inputs, colocation and several
/// outputs.
void build_program() {
  const Tensor x = tf::placeholder(tf::float32, {.shape = {None, 2}, .name = "x"});
  const auto scope = tf::name_scope("tower_0");
  const auto device = tf::device("/gpu:0");
  const tf::Variable w = tf::get_variable("w", {2, 3}, {.initializer = tf::ones_initializer()});
  tf::is_variable_initialized(w);
  const Tensor y = tf::nn::relu(tf::reduce_sum(tf::expand_dims(x, 2) * w, 1));
  y.op().output(0).set_shape({4, 3});
  const std::vector<Tensor> parts = tf::split(y, 3, 1);
  const auto after = tf::control_dependencies({w.initializer()});
  const Tensor loss = tf::reduce_mean(parts[2] + parts[1], {.name = "loss"});
  tf::train::GradientDescentOptimizer(0.1).minimize(loss);
}

/// Returns the NodeDefs of a graph, with `prefix` removed from their names.
std::vector<NodeDef> nodes_of(const Graph& graph, const std::string& prefix) {
  std::vector<NodeDef> nodes = graph.as_graph_def({.add_shapes = true}).node;
  const auto cut = [&](std::string& name) {
    const std::size_t at = name.starts_with('^') ? 1 : 0;
    if (name.substr(at).starts_with(prefix)) name.erase(at, prefix.size());
  };
  for (NodeDef& node : nodes) {
    cut(node.name);
    for (std::string& input : node.input) cut(input);
    const auto groups = node.attr.find("_class");
    if (groups == node.attr.end()) continue;
    for (std::string& group : *groups->second.get_if<std::vector<std::string>>()) {
      if (group.starts_with("loc:@" + prefix)) group.erase(5, prefix.size());
    }
  }
  return nodes;
}

std::string import_error(std::vector<NodeDef> nodes, tf::ImportGraphDefOptions options = {}) {
  Graph graph;
  const auto guard = graph.as_default();
  const std::string text = error_text([&] { tf::import_graph_def({std::move(nodes)}, options); });
  CHECK(graph.size() == 0);
  CHECK(graph.unique_name("import/a", false) == "import/a");
  return text;
}

}  // namespace

TEST_CASE("import_graph_def: a node beside others gets their device") {
  Graph graph;
  const auto guard = graph.as_default();
  {
    const auto device = tf::device("/gpu:1");
    tf::get_variable("w", {2}, {.initializer = tf::zeros_initializer()});
  }
  {
    const auto device = tf::device("/cpu:0");
    const Tensor a = tf::constant(1.0F, {.name = "a"});
    const auto other = tf::device("/gpu:0");
    const auto beside = tf::colocate_with(a.op());
    tf::constant(2.0F, {.name = "b"});
  }
  GraphDef def = graph.as_graph_def();
  for (NodeDef& node : def.node) {
    if (node.name == "b") node.device = "/device:GPU:3";  // does not count
  }
  Graph imported;
  const auto inside = imported.as_default();
  tf::import_graph_def(def, {.name = ""});
  const auto device_of = [&](const char* name) {
    return imported.get_operation_by_name(name).device();
  };
  // As TensorFlow has them.
  for (const char* name : {"w", "w/Initializer/zeros", "w/Assign", "w/read"})
    CHECK(device_of(name) == "/device:GPU:1");
  for (const char* name : {"a", "b"}) CHECK(device_of(name) == "/device:CPU:0");
}

TEST_CASE("import_graph_def: a graph that was exported is the same again") {
  Graph graph;
  {
    const auto guard = graph.as_default();
    build_program();
  }
  const GraphDef def = graph.as_graph_def({.add_shapes = true});
  const std::vector<NodeDef> wanted = testing::as_imported(def.node);
  for (const std::string name : {"", "import", "outer/again"}) {
    Graph other;
    const auto guard = other.as_default();
    tf::import_graph_def(GraphDef::FromString(def.SerializeToString()), {.name = name});
    const std::vector<NodeDef> nodes = nodes_of(other, name.empty() ? "" : name + "/");
    REQUIRE(nodes.size() == def.node.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      CAPTURE(nodes[i].name);
      CHECK(nodes[i] == wanted[i]);
    }
    REQUIRE(other.size() == graph.size());
    for (std::size_t i = 0; i < graph.size(); ++i) {
      CAPTURE(graph.operation(i).name());
      const Attrs& attrs = other.operation(i).attrs();
      if (name.empty()) CHECK(attrs == graph.operation(i).attrs());
      CHECK(attrs.empty() == graph.operation(i).attrs().empty());
    }
  }
}

TEST_CASE("import_graph_def: a list of no tensors, where an op has to have some") {
  const std::int64_t none = 0;
  for (const char* op : {"AddN", "Pack", "DynamicStitch"}) {
    CAPTURE(op);
    const NodeDef node{"a", op, {}, "", {{"N", none}, {"T", DType::float32}}};
    CHECK(import_error({node}).find("ValueError") != std::string::npos);
  }
}

TEST_CASE("import_graph_def: what is imported runs") {
  GraphDef def;
  {
    Graph graph;
    const auto guard = graph.as_default();
    build_program();
    def = graph.as_graph_def();
  }
  Graph graph;
  const auto guard = graph.as_default();
  const auto found = tf::import_graph_def(
      def, {.return_elements = {"tower_0/loss:0", "w/Assign", "tower_0/GradientDescent",
                                "tower_0/IsVariableInitialized:0"}});
  REQUIRE(found.size() == 4);
  tf::Session session({.allow_soft_placement = true});
  const Tensor x = graph.get_tensor_by_name("import/x:0");
  CHECK(!session.run(*found[3].tensor()).item<bool>());
  session.run(found[1]);
  CHECK(session.run(*found[3].tensor()).item<bool>());
  const Array ones = Array::of<float>(Shape{4, 2}, std::vector<float>(8, 1));
  CHECK(session.run(*found[0].tensor(), {{x, ones}}).item<float>() == 4);
  session.run(found[2], {{x, ones}});
  CHECK(error_text([&] { session.run(x); }).find("placeholder tensor 'import/x'") !=
        std::string::npos);
}

TEST_CASE("import_graph_def: scopes, order, devices and control inputs as in TensorFlow") {
  Graph graph;
  const auto guard = graph.as_default();
  NodeDef placed = negative_def("b", {"a"});
  placed.device = "/cpu:0";
  const GraphDef def{{placed, constant_def("a")}};  // an input may come after its reader
  const Operation wait = tf::no_op({.name = "wait"});
  {
    const auto scope = tf::name_scope("outer");
    const auto device = tf::device("/gpu:1");
    const auto after = tf::control_dependencies({wait});
    const auto found = tf::import_graph_def(def, {.return_elements = {"a", "b", "b:0"}});
    CHECK(found[0].operation().name() == "outer/import/a");
    CHECK(found[0].operation().device() == "/device:GPU:1");
    CHECK(found[1].operation().name() == "outer/import/b");
    CHECK(found[1].operation().device() == "/device:CPU:0");
    CHECK(!found[1].tensor());
    CHECK(found[2].tensor()->name() == "outer/import/b:0");
    for (const Fetch& one : found) {
      CHECK(one.operation().control_inputs() == std::vector<Operation>{wait});
    }
    tf::import_graph_def(def, {.name = "x"});
    CHECK(graph.get_operation_by_name("outer/x/b").inputs()[0].name() == "outer/x/a:0");
    tf::import_graph_def(def);
    CHECK(graph.name_in_use("outer/import_1/a"));
    tf::import_graph_def(def, {.name = ""});
    tf::import_graph_def(def, {.name = ""});
    CHECK(graph.get_operation_by_name("b_1").inputs()[0].name() == "a_1:0");
  }
  CHECK(tf::constant(1, {.name = "a"}).name() == "a_2:0");
}

TEST_CASE("import_graph_def: inputs from the graph") {
  Graph graph;
  const auto guard = graph.as_default();
  const GraphDef def{{constant_def("a"), negative_def("b", {"a"}), negative_def("c", {"gone"})}};
  const Tensor one = tf::constant(5.0F), other = tf::constant(7.0F);
  const auto found = tf::import_graph_def(
      def, {.input_map = {{"a:0", one}, {"gone", other}}, .return_elements = {"b:0", "c:0"}});
  tf::Session session;
  CHECK(session.run(*found[0].tensor()).item<float>() == -5);
  CHECK(session.run(*found[1].tensor()).item<float>() == -7);
}

TEST_CASE("import_graph_def: what is wrong is named, and nothing stays") {
  const NodeDef a = constant_def("a");
  CHECK_SAYS(import_error({{"a", "Foo"}}), "NotFoundError: Op type not registered 'Foo'",
             "node: a (Foo)");
  CHECK_SAYS(import_error({{"a", "_FusedMatMul"}}), "Op type not registered '_FusedMatMul'");
  CHECK_SAYS(import_error({{"a", "_Dataset"}}), "Op type not registered '_Dataset'");
  CHECK_SAYS(import_error({a, a}), "ValueError: Node 'a' is not unique");
  CHECK_SAYS(import_error({a, negative_def("b", {"z"})}),
             "ValueError: Node 'b' has the unknown input node 'z'");
  CHECK_SAYS(import_error({a, negative_def("b", {"a:3"})}),
             "Node 'b' is connected to the invalid output 3 of node 'a', which has 1");
  CHECK_SAYS(import_error({a, negative_def("b", {"a:99999999999999999999"})}), "unknown input");
  CHECK_SAYS(import_error({a, negative_def("b", {"a", "a"})}),
             "ValueError: 2 tensors are given where 1 are taken", "node: b (Neg)");
  CHECK_SAYS(import_error({a, negative_def("b", {})}), "0 tensors are given where 1 are taken");
  CHECK_SAYS(import_error({a, negative_def("b", {"^a", "a"})}),
             "control dependencies that do not come after regular dependencies");
  CHECK_SAYS(import_error({negative_def("b", {"c"}), negative_def("c", {"b"})}),
             "Node 'b' is one of 2 nodes in a cycle");
  CHECK_SAYS(import_error({{"a b", "NoOp"}}), "ValueError", "not a valid node name");
  CHECK_SAYS(import_error({{"", "NoOp"}}), "ValueError: Node '' has an invalid name");
  NodeDef wrong = negative_def("b", {"a"});
  wrong.attr["T"] = DType::int32;
  CHECK_SAYS(import_error({a, wrong}),
             "ValueError: argument 'x: T' requires attribute 'T' to be float32, but it is int32");
  wrong.attr = {{"T", 1}};
  CHECK_SAYS(import_error({a, wrong}),
             "argument 'x: T' requires attribute 'T' to be float32, but it is 1");
  wrong.attr = {{"speed", 1}};
  CHECK_SAYS(import_error({a, wrong}), "ValueError: op 'Neg' has no attribute 'speed'");
  wrong.attr = {{"_class", std::vector<std::string>{"loc:@zz"}}};
  CHECK_SAYS(import_error({a, wrong}), "Node 'b' expects to be colocated with unknown node 'zz'");
  wrong.attr = {{"_class", 1}};
  CHECK_SAYS(import_error({a, wrong}), "Node 'b' has an attribute '_class' that is not a list");
  wrong.attr = {{"_output_shapes", std::vector<Shape>{Shape{2}}}};
  CHECK_SAYS(import_error({a, wrong}), "ValueError", "(2,)", "node: b (Neg)");
  wrong.attr.clear();
  wrong.device = "what ever";
  CHECK_SAYS(import_error({a, wrong}), "ValueError", "what ever");
  NodeDef number = a;
  number.attr["dtype"] = DType::int32;
  CHECK_SAYS(import_error({number}),
             "ValueError: attribute 'dtype' is int32, but the inputs and the other attributes "
             "require float32");
  // An axis is read as an integer, so no other dtype is accepted.
  CHECK_SAYS(import_error({a, {"b", "Sum", {"a", "a"}}}),
             "ValueError: Value for attr 'Tidx' of float32 is not in the list of allowed values: "
             "int32, int64",
             "node: b (Sum)");
  CHECK_SAYS(import_error({a, {"b", "Assign", {"a", "a"}}}),
             "ValueError: argument 'ref: Ref(T)' is not a variable");
  CHECK_SAYS(import_error({a, {"m", "MatMul", {"a", "a"}}}), "ValueError", "node: m (MatMul)");
  CHECK_SAYS(
      import_error({a, {"c", "Cast", {"a"}, "", {{"DstT", DType::int32}, {"Truncate", true}}}}),
      "UnimplementedError: attribute 'Truncate' of op 'Cast' is true");
  CHECK_SAYS(import_error({a}, {.return_elements = {"q"}}),
             "ValueError: Requested return element 'q' not found in graph_def");
  CHECK_SAYS(import_error({a}, {.return_elements = {"a:7"}}), "Invalid return output 7 of node");
  CHECK_SAYS(import_error({a}, {.return_elements = {"^a"}}), "'^a' not found");
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor one = tf::constant(1.0F);
  CHECK_SAYS(error_text([&] {
               tf::import_graph_def({{a}}, {.input_map = {{"zz:0", one}}});
             }),
             "ValueError: Attempted to map inputs that were not found in graph_def: [zz:0]");
  CHECK(graph.size() == 1);
}
