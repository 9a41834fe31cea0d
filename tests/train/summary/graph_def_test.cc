// The GraphDef written for TensorBoard, compared with TensorFlow's for the same program.
#include "train/summary/graph_def.h"

#include "core/graph/graph_def.h"
#include "core/graph/op_def.h"
#include "tests/train/summary/support.h"
#include "train/summary/graph_def.pb.h"

using namespace towerflow;
using namespace towerflow::testing;

namespace {

/// Builds the same graph as make_golden.py's `small_graph`.
void small_graph() {
  Variable w;
  {
    const auto cpu = tf::device("/cpu:0");
    w = tf::get_variable("w", {2, 3}, {.initializer = tf::zeros_initializer()});
  }
  const auto mean = tf::with(tf::device("/gpu:1"), [&](auto&) {
    const auto scope = tf::name_scope("tower_1");
    const Tensor x = tf::placeholder(tf::float32, {.shape = {None, 2}, .name = "x"});
    const Tensor y = tf::matmul(x, w);
    const Tensor made = tf::with(tf::control_dependencies({w.initializer()}),
                                 [&](auto&) { return tf::reduce_mean(y, {.name = "mean"}); });
    const auto [first, second] = tf::nn::moments(y, {0});
    const auto beside = tf::colocate_with(w.op());
    tf::identity(second - first, {.name = "beside"});
    return made;
  });
  tf::summary::scalar("mean", mean);
}

}  // namespace

TEST_CASE("graph_def: nodes and all their attributes as TensorFlow writes them") {
  Graph graph;
  const auto guard = graph.as_default();
  small_graph();
  const std::string bytes = summary::serialize_graph(graph);
  CHECK(bytes == summary::serialize_graph(graph));
  const auto events = read_events(kSummaryGolden + "events.out.tfevents.golden");
  REQUIRE(events.at(1).graph_def);
  const GraphDef ours = GraphDef::FromString(bytes);
  CHECK(ours == graph.as_graph_def({.add_shapes = true}));
  const GraphDef theirs = GraphDef::FromString(*events[1].graph_def);
  REQUIRE(ours.node.size() == theirs.node.size());
  for (std::size_t i = 0; i < ours.node.size(); ++i) {
    const NodeDef &mine = ours.node[i], &wanted = theirs.node[i];
    CAPTURE(wanted.name);
    CHECK(mine.name == wanted.name);
    CHECK(mine.op == wanted.op);
    CHECK(mine.input == wanted.input);
    CHECK(mine.device == wanted.device);
    for (const auto& attr : wanted.attr) {
      const std::string& name = attr.first;
      const auto& value = attr.second;
      if (name == "_has_manual_control_dependencies") continue;  // internal to TensorFlow
      CAPTURE(name);
      REQUIRE(mine.attr.contains(name));
      CHECK(attr_text(mine.attr.at(name)) == attr_text(value));
    }
    for (const auto& attr : mine.attr) {
      const std::string& name = attr.first;
      CAPTURE(name);
      CHECK((name.starts_with('_') || wanted.attr.contains(name)));
    }
  }
}

TEST_CASE("graph_def: outputs after the first, an unknown rank, what is no graph") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = tf::placeholder(tf::float32, {.name = "x"});
  const std::vector<Tensor> both = tf::identity_n({x, x}, {.name = "both"});
  tf::add(both[1], both[0], {.name = "sum"});
  const std::string bytes = summary::serialize_graph(graph);
  const std::vector<NodeDef> nodes = GraphDef::FromString(bytes).node;
  REQUIRE(nodes.size() == 3);
  CHECK(nodes[2].input == std::vector<std::string>{"both:1", "both"});
  CHECK(nodes[0].attr.at("_output_shapes") == AttrValue(std::vector{Shape::unknown()}));
  CHECK(thrown([&] { GraphDef::FromString(bytes.substr(0, bytes.size() - 1)); }) ==
        "DataLossError: damaged GraphDef of " + std::to_string(bytes.size() - 1) + " bytes");
}

TEST_CASE("graph_def: values of every type are read back") {
  AttrMap values{{"b", true},
                 {"i", std::int64_t{-5}},
                 {"f", 0.1F},
                 {"s", std::string("a\0b", 3)},
                 {"type", DType::bfloat16},
                 {"shape", Shape{2, None}},
                 {"unknown", Shape::unknown()},
                 {"scalar", Shape{}},
                 {"none", std::vector<std::int64_t>{}},
                 {"bs", std::vector<bool>{true, false}},
                 {"is", std::vector<std::int64_t>{1, -1}},
                 {"fs", std::vector<float>{1.5F}},
                 {"ss", std::vector<std::string>{"", "x"}},
                 {"types", std::vector<DType>{DType::int8, DType::resource}},
                 {"shapes", std::vector<Shape>{Shape{}, Shape::unknown()}},
                 {"strings", Array::of<std::string>(Shape{2}, std::vector<std::string>{"", "b"})},
                 {"empty", Array(DType::float32, Shape{0, 3})},
                 {"tensors", std::vector<Array>{Array::scalar(1.0), Array(), Array::scalar(true)}}};
  const GraphDef def{{{"n", "Op", {"x", "^y"}, "/device:GPU:0", values}}};
  CHECK(GraphDef::FromString(def.SerializeToString()) == def);
  CHECK(GraphDef::FromString("") == GraphDef{});
}

TEST_CASE("graph_def: tensors of which the last value stands for the rest, and those refused") {
  proto::GraphDef proto;
  const auto read = [&](const std::function<void(proto::TensorProto&)>& fill) {
    proto.Clear();
    proto::NodeDef::Attr& attr = *proto.add_node()->add_attr();
    attr.set_key("value");
    proto::TensorProto& tensor = *attr.mutable_value()->mutable_tensor();
    tensor.set_dtype(1);
    fill(tensor);
    return GraphDef::FromString(proto.SerializeAsString()).node[0].attr.at("value");
  };
  const auto sized = [](proto::TensorProto& tensor, std::vector<std::int64_t> sizes) {
    for (const std::int64_t size : sizes) tensor.mutable_tensor_shape()->add_dim()->set_size(size);
  };
  CHECK(read([&](auto& tensor) {
          sized(tensor, {2, 2});
          tensor.add_float_val(1);
          tensor.add_float_val(2);
        }) == AttrValue(Array::of<float>(Shape{2, 2}, std::vector<float>{1, 2, 2, 2})));
  CHECK(read([&](auto& tensor) { sized(tensor, {2}); }) ==
        AttrValue(Array::of<float>(Shape{2}, std::vector<float>{0, 0})));
  const auto error = [&](const std::function<void(proto::TensorProto&)>& fill) {
    return thrown([&] { read(fill); });
  };
  CHECK(error([&](auto& tensor) {
          sized(tensor, {1});
          tensor.add_float_val(1);
          tensor.add_float_val(2);
        }).find("DataLossError: attribute 'value' of node '': no attribute: 2 values") == 0);
  CHECK(error([&](auto& tensor) {
          sized(tensor, {2});
          tensor.set_tensor_content("abc");
        }).find("3 bytes of a tensor float32 (2,)") != std::string::npos);
  CHECK(error([&](auto& tensor) {
          sized(tensor, {1 << 20, 1 << 20});
        }).find("ResourceExhaustedError: a tensor float32 (1048576, 1048576)") == 0);
  CHECK(error([&](auto& tensor) {
          sized(tensor, {1LL << 40, 1LL << 40});
        }).find("no attribute: a tensor of shape") != std::string::npos);
  CHECK(error([&](auto& tensor) { sized(tensor, {-1}); }).find("(?,)") != std::string::npos);
  CHECK(error([&](auto& tensor) { sized(tensor, {-7}); }).find("of size -7") != std::string::npos);
  CHECK(error([&](auto& tensor) { tensor.set_dtype(99); }).find("99") != std::string::npos);
  CHECK(error([&](auto& tensor) { tensor.set_dtype(20); }).find("resource") != std::string::npos);
}

TEST_CASE("graph_def: an op that lists nothing is shown, and not exported") {
  OpRegistry::global().add({.name = "TestUnlisted",
                            .shape = [](InferenceContext& c) { c.add_output(c.dtype(0), Shape{}); },
                            .gradient = NoGradient{"of a test"}});
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = tf::placeholder(tf::float32, {.name = "x"});
  graph.add({.op = "TestUnlisted", .name = "y", .inputs = {x}});
  const NodeDef shown = GraphDef::FromString(summary::serialize_graph(graph)).node.at(1);
  CHECK(shown.input == std::vector<std::string>{"x"});
  CHECK(shown.attr.size() == 1);
  CHECK(thrown([&] { graph.as_graph_def(); }) ==
        "UnimplementedError: op 'TestUnlisted' does not list its arguments");
}
