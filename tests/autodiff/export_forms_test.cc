// Ops that TensorFlow lacks: the nodes that a GraphDef has in their place compute the same values
// and become the op again on import.
#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <set>

#include "core/graph/export_form.h"
#include "core/graph/graph_def.h"
#include "ops/math/reduce_ops.h"
#include "tests/ops/cases/build_case.h"
#include "tests/support/error_text.h"

using namespace towerflow;
using testing::BuiltCase;
using testing::CaseTensors;
using testing::OpCase;

namespace {

/// Returns the names of the ops in golden/op_defs.txt that TensorFlow 2.21 has.
const std::set<std::string>& ops_of_tensorflow() {
  static const std::set<std::string> names = [] {
    std::ifstream file("tests/ops/naming/golden/op_defs.txt");
    REQUIRE(file.good());
    std::set<std::string> read;
    for (std::string line; std::getline(file, line);) {
      const std::size_t tab = line.find('\t');
      if (tab != std::string::npos) read.insert(line.substr(0, tab));
    }
    return read;
  }();
  return names;
}

/// Removes the `_original_*` attributes, by which import makes one op of an export form again.
GraphDef without_notes(GraphDef def) {
  for (NodeDef& node : def.node) {
    std::erase_if(node.attr, [](const auto& one) { return one.first.starts_with("_original_"); });
  }
  return def;
}

/// Returns the values of a case's tensors in `graph`, which has nodes of the same names.
std::vector<Array> values_in(Graph& graph, const BuiltCase& built) {
  std::vector<Fetch> fetches;
  for (const Tensor& tensor : built.tensors()) {
    fetches.emplace_back(graph.get_tensor_by_name(tensor.name()));
  }
  Feeds feeds;
  for (const Feed& feed : built.feeds()) {
    feeds.emplace_back(graph.get_tensor_by_name(feed.tensor().name()), feed.value());
  }
  Session session(graph);
  for (const Fetch& initializer : built.initializers()) {
    session.run(graph.get_operation_by_name(initializer.operation().name()));
  }
  return session.run(std::span<const Fetch>(fetches), feeds);
}

/// Exports and imports a case built in float64, with unknown sizes if it allows them, with and
/// without the `_original_*` attributes. Returns the types of its ops that have export forms.
std::set<std::string> check_case(const OpCase& one) {
  CAPTURE(one.name);
  BuiltCase built(one, {.unknown_shapes = !one.needs_sizes});
  const std::vector<Array> wanted = values_in(built.graph(), built);
  const GraphDef def =
      GraphDef::FromString(built.graph().as_graph_def({.add_shapes = true}).SerializeToString());
  {
    Graph again;
    const auto inner = again.as_default();
    tf::import_graph_def(def, {.name = ""});
    const tf::AsGraphDefOptions as_it_is{.add_shapes = true, .for_display = true};
    CHECK(again.as_graph_def(as_it_is) == built.graph().as_graph_def(as_it_is));
  }
  Graph spelled_out;
  const auto inner = spelled_out.as_default();
  tf::import_graph_def(without_notes(def), {.name = ""});
  std::set<std::string> forms;
  for (const Operation& op : built.graph().get_operations()) {
    const OpDef& made = OpRegistry::global().get(op.type());
    if (made.export_form != nullptr) forms.insert(op.type());
  }
  for (const Operation& op : spelled_out.get_operations()) {
    CAPTURE(op.name());
    CHECK(ops_of_tensorflow().contains(op.type()));
  }
  const std::vector<Array> found = values_in(spelled_out, built);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    CAPTURE(built.tensors()[i].name());
    CHECK(testing::difference(found[i], wanted[i]) < 1e-12);
  }
  return forms;
}

}  // namespace

TEST_CASE("export forms: every op that TensorFlow lacks has one, and so has SparseApply") {
  const std::set<std::string>& theirs = ops_of_tensorflow();
  for (const OpDef* op : OpRegistry::global().all()) {
    CAPTURE(op->name);
    const bool own = op->name.starts_with("_");
    const bool lacking = !own && !theirs.contains(op->name);
    const bool refused = op->name.starts_with("PyFunc");  // an error instead of a form
    CHECK((op->export_form != nullptr) ==
          (lacking || refused || op->name.starts_with("SparseApply")));
  }
}

TEST_CASE("export forms: gradients of unknown sizes are spelled out with the same values") {
  std::set<std::string> forms;
  for (const OpCase& one : testing::op_cases()) {
    if (testing::has_gradients(one) && testing::has_float64(one)) forms.merge(check_case(one));
  }
  for (const char* op : {"SumToShape", "ReducedShape", "GatherOrZero", "SliceGrad"}) {
    CAPTURE(op);
    CHECK(forms.contains(op));
  }
}

TEST_CASE("export forms: axes that are fed, negative ones, ranks that nobody knows") {
  const auto fed = [](std::vector<std::int64_t> axes) {
    return tf::placeholder_with_default(
        tf::constant(Array::of<std::int64_t>(Shape{static_cast<std::int64_t>(axes.size())}, axes)),
        Shape{None});
  };
  const auto any_rank = [](const Tensor& x) {
    return tf::placeholder_with_default(x, Shape::unknown());
  };
  std::set<std::string> forms;
  const auto check = [&](auto call, const Shape& shape) {
    forms.merge(check_case({.name = "", .inputs = {testing::random_input(shape)}, .call = call}));
  };
  check([&](const CaseTensors& t) { return tf::reduce_sum(t.x, fed({-1, 0})); }, {2, 3, 2});
  check([&](const CaseTensors& t) { return tf::reduce_max(any_rank(t.x), {-2}); }, {2, 3, 2});
  check([&](const CaseTensors& t) { return tf::reduce_prod(any_rank(t.x), {1, -3}); }, {2, 3, 2});
  check([&](const CaseTensors& t) { return tf::reduce_prod(t.x, {0}); }, {0, 2});
  check([&](const CaseTensors& t) { return tf::reduce_prod(t.x, {1}); }, {2, 0});
  check([&](const CaseTensors& t) { return tf::gather(any_rank(t.x), {{1, 1}, {0, 2}}); }, {3, 2});
  check([&](const CaseTensors& t) { return tf::concat({any_rank(t.x), t.x * 2.0}, -1); }, {2, 3});
  check([&](const CaseTensors& t) { return tf::unsorted_segment_sum(t.x, {1, -1, 0}, 3); }, {3, 2});
  check([&](const CaseTensors& t) { return any_rank(t.x) * tf::reduce_sum(t.x, 0); }, {3, 2});
  check([&](const CaseTensors& t) { return tf::slice(any_rank(t.x), {0, 1}, {-1, 2}); }, {3, 4});
  for (const char* op : {"SumToShape", "ReducedShape", "GatheredShape", "GatherOrZero", "SliceGrad",
                         "ConcatBegin", "ProductOfOthers"}) {
    CAPTURE(op);
    CHECK(forms.contains(op));
  }
}

namespace {

/// Returns a graph that sums x to the shape of y: the three nodes of the form and their inputs.
GraphDef exported() {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = tf::placeholder(float64, {.shape = {None, 2}, .name = "x"});
  const Tensor y = tf::placeholder(float64, {.shape = {None}, .name = "y"});
  graph.add({.op = "SumToShape", .name = "sum", .inputs = {x, tf::shape(y)}});
  return graph.as_graph_def();
}

std::vector<std::string> types_of(const GraphDef& def, tf::ImportGraphDefOptions options = {}) {
  Graph graph;
  const auto guard = graph.as_default();
  tf::import_graph_def(def, std::move(options));
  std::vector<std::string> types;
  for (const Operation& op : graph.get_operations()) types.push_back(op.type());
  return types;
}

std::size_t count(const std::vector<std::string>& types, const std::string& type) {
  return static_cast<std::size_t>(std::count(types.begin(), types.end(), type));
}

NodeDef& node_of_type(GraphDef& def, const std::string& type) {
  const auto at = std::find_if(def.node.begin(), def.node.end(),
                               [&](const NodeDef& node) { return node.op == type; });
  REQUIRE(at != def.node.end());
  return *at;
}

}  // namespace

TEST_CASE("export forms: one that was changed, or is read inside, stays as TensorFlow's nodes") {
  const GraphDef whole = exported();
  for (const std::string name : {"", "other/scope"}) {
    CHECK(count(types_of(whole, {.name = name}), "SumToShape") == 1);
    CHECK(count(types_of(whole, {.name = name}), "BroadcastGradientArgs") == 0);
  }
  const auto is_unchanged = [&](const GraphDef& def, tf::ImportGraphDefOptions options = {}) {
    const std::vector<std::string> types = types_of(def, std::move(options));
    return count(types, "BroadcastGradientArgs") == 1 && count(types, "SumToShape") == 0;
  };
  GraphDef copy = whole;
  const std::string inner = node_of_type(copy, "BroadcastGradientArgs").name;
  CHECK(is_unchanged(copy, {.return_elements = {inner + ":0"}}));
  copy.node.push_back({"reader", "Identity", {inner}, "", {{"T", DType::int32}}});
  CHECK(is_unchanged(copy));
  copy.node.back() = {"reader", "NoOp", {"^" + inner}, "", {}};
  CHECK(is_unchanged(copy));
  copy.node.back() = {
      "reader", "NoOp", {}, "", {{"_class", std::vector<std::string>{"loc:@" + inner}}}};
  CHECK(is_unchanged(copy));
  const auto changed = [&](const char* name, AttrValue value) {
    GraphDef other = whole;
    for (NodeDef& node : other.node) {
      if (node.attr.contains("_original_op")) node.attr.insert_or_assign(name, value);
    }
    return is_unchanged(other);
  };
  using Texts = std::vector<std::string>;
  CHECK(changed("_original_op", "NoSuchOp"));
  CHECK(changed("_original_op", "Neg"));
  CHECK(changed("_original_op", 7));
  CHECK(changed("_original_parts", Texts{"Gone"}));
  CHECK(changed("_original_parts", Texts{""}));
  CHECK(changed("_original_parts", 7));
  CHECK(changed("_original_inputs", Texts{"Sum:9", ":1"}));
  CHECK(changed("_original_inputs", Texts{"Sum:x", ":1"}));
  CHECK(changed("_original_inputs", Texts{"Sum", ":1"}));
  CHECK(changed("_original_inputs", Texts{":0", ":1"}));  // a node of the form itself
  GraphDef wrong = whole;
  for (NodeDef& node : wrong.node) {
    if (node.attr.contains("_original_op")) node.attr["_original_inputs"] = Texts{":1", ":1"};
  }
  CHECK(testing::error_text([&] { types_of(wrong); }).find("ValueError") != std::string::npos);
}

TEST_CASE("export forms: names that are taken, control inputs and devices of all parts") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = tf::placeholder(float64, {.shape = {None, 2}, .name = "x"});
  const Tensor y = tf::placeholder(int32, {.shape = {None}, .name = "y"});
  const Operation wait = tf::no_op({.name = "wait"});
  {
    const auto device = tf::device("/gpu:1");
    const auto after = tf::control_dependencies({wait});
    graph.add({.op = "SumToShape", .name = "g", .inputs = {x, y}});
  }
  graph.add({.op = "NoOp", .name = "g/Sum/"});
  const GraphDef def = graph.as_graph_def({.add_shapes = true});
  int parts = 0;
  for (const NodeDef& node : def.node) {
    if (!node.name.starts_with("g") || node.op == "NoOp") continue;
    CAPTURE(node.name);
    CHECK(node.device == "/device:GPU:1");
    CHECK(node.input.back() == "^wait");
    CHECK((node.op != "Sum" || node.name == "g/Sum_1"));
    ++parts;
  }
  CHECK(parts == 4);
  Graph again;
  const auto inner = again.as_default();
  tf::import_graph_def(def, {.name = ""});
  CHECK(again.get_operation_by_name("g").type() == "SumToShape");
  CHECK(again.as_graph_def({.add_shapes = true}) == def);
}

TEST_CASE("BroadcastGradientArgs: the axes of TensorFlow's, known or found in the run") {
  const auto vector = [](const std::vector<std::int32_t>& sizes) {
    return Array::of<std::int32_t>(Shape{static_cast<std::int64_t>(sizes.size())}, sizes);
  };
  const NodeDef axes{"axes", "BroadcastGradientArgs", {"s0", "s1"}, "", {}};
  const auto axes_of = [&](const Array& s0, const Array& s1, bool known) {
    Graph graph;
    const auto guard = graph.as_default();
    const Tensor fed0 = tf::placeholder(int32, {.shape = {None}, .name = "s0"});
    const Tensor fed1 = tf::placeholder(int32, {.shape = {None}, .name = "s1"});
    const Tensor a = known ? tf::constant(s0) : fed0, b = known ? tf::constant(s1) : fed1;
    const auto found = tf::import_graph_def(
        {{axes}}, {.input_map = {{"s0", a}, {"s1", b}}, .return_elements = {"axes:0", "axes:1"}});
    if (known) CHECK(found[0].tensor()->shape().fully_known());
    Session session(graph);
    return session.run(std::span<const Fetch>(found), {{fed0, s0}, {fed1, s1}});
  };
  const struct {
    std::vector<std::int32_t> s0, s1, r0, r1;
  } cases[] = {
      {{2, 3}, {2, 3}, {}, {}},      {{2, 3}, {3}, {}, {0}}, {{3}, {2, 3}, {0}, {}},
      {{2, 1}, {1, 3}, {1}, {0}},    {{1}, {1}, {}, {}},     {{1, 2}, {1, 1}, {0}, {0, 1}},
      {{}, {2, 3}, {0, 1}, {}},      {{}, {}, {}, {}},       {{0, 1}, {1, 4}, {1}, {0}},
      {{4, 1, 2}, {2}, {1}, {0, 1}},
  };
  for (const auto& one : cases) {
    for (const bool known : {true, false}) {
      CAPTURE(known);
      const auto found = axes_of(vector(one.s0), vector(one.s1), known);
      CHECK(found[0] == vector(one.r0));
      CHECK(found[1] == vector(one.r1));
    }
  }
  CHECK_SAYS(testing::error_text([&] { axes_of(vector({2}), vector({3}), false); }),
             "Incompatible shapes: [2] vs. [3]", "BroadcastGradientArgs of (1,), (1,)");
  CHECK_SAYS(testing::error_text([&] { axes_of(vector({2}), vector({3}), true); }), "ValueError",
             "Incompatible shapes: [2] vs. [3]");
}
