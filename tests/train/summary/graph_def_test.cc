// A graph as TensorBoard gets it, beside what TensorFlow writes for the same program.
#include "train/summary/graph_def.h"

#include "tests/train/summary/support.h"
#include "train/summary/graph_def.pb.h"

using namespace towerflow;
using namespace towerflow::testing;

namespace {

/// make_golden.py's `small_graph`.
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

std::string attribute(const proto::NodeDef& node, const std::string& name) {
  for (const proto::NodeDef::Attr& attr : node.attr()) {
    if (attr.key() == name) return attr.value().SerializeAsString();
  }
  return "";
}

}  // namespace

TEST_CASE("graph_def: nodes, devices, inputs, shapes as TensorFlow writes them") {
  Graph graph;
  const auto guard = graph.as_default();
  small_graph();
  const std::string bytes = summary::serialize_graph(graph);
  CHECK(bytes == summary::serialize_graph(graph));
  const auto events = read_events(kSummaryGolden + "events.out.tfevents.golden");
  REQUIRE(events.at(1).graph_def);
  const auto ours = summary::parse_graph(bytes);
  const auto theirs = summary::parse_graph(*events[1].graph_def);
  REQUIRE(ours.size() == theirs.size());
  for (std::size_t i = 0; i < ours.size(); ++i) {
    CAPTURE(theirs[i].name);
    CHECK(ours[i] == theirs[i]);
  }

  proto::GraphDef our_proto, their_proto;
  REQUIRE(our_proto.ParseFromString(bytes));
  REQUIRE(their_proto.ParseFromString(*events[1].graph_def));
  for (int i = 0; i < our_proto.node_size(); ++i) {
    CAPTURE(theirs[static_cast<std::size_t>(i)].name);
    for (const char* name : {"_output_shapes", "_class", "dtype"}) {
      CHECK(attribute(our_proto.node(i), name) == attribute(their_proto.node(i), name));
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
  const auto nodes = summary::parse_graph(bytes);
  REQUIRE(nodes.size() == 3);
  CHECK(nodes[2].inputs == std::vector<std::string>{"both:1", "both"});
  proto::GraphDef proto;
  REQUIRE(proto.ParseFromString(bytes));
  proto::AttrValue shapes;
  REQUIRE(shapes.ParseFromString(attribute(proto.node(0), "_output_shapes")));
  CHECK(shapes.list().shape(0).unknown_rank());
  CHECK(thrown([&] { summary::parse_graph(bytes.substr(0, bytes.size() - 1)); }) ==
        "DataLossError: no GraphDef: " + std::to_string(bytes.size() - 1) +
            " bytes that are damaged");
}
