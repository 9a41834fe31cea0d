// Exporting a graph with its collections and Saver, importing it and continuing with it.
#include "train/meta_graph.h"

#include "tests/data/support.h"
#include "tests/train/saver_support.h"
#include "towerflow/tf.h"

using namespace towerflow;
using namespace towerflow::testing;

namespace {

/// Builds a regression with a training op that increments the global step, and collections of
/// each kind.
void build_program() {
  const Tensor x = tf::placeholder(tf::float32, {.shape = {None, 2}, .name = "x"});
  const tf::Variable w = tf::get_variable("w", {2, 1}, {.initializer = tf::ones_initializer()});
  const tf::Variable step = tf::train::get_or_create_global_step();
  const Tensor loss =
      tf::reduce_mean(tf::square(tf::reduce_sum(x * tf::transpose(w), 1)), {.name = "loss"});
  const Operation train = tf::train::GradientDescentOptimizer(0.1).minimize(
      loss, {.global_step = step, .name = "train"});
  tf::add_to_collection("fetches", loss);
  tf::add_to_collection("targets", train);
  tf::add_to_collection("texts", std::string("two words"));
  tf::add_to_collection("numbers", std::int64_t{7});
  tf::add_to_collection("rates", 0.5F);
}

const Array kInput = Array::of<float>(Shape{1, 2}, std::vector<float>{1, 2});

}  // namespace

TEST_CASE("meta graph: nodes, collections and saver come back from bytes") {
  Graph graph;
  const auto guard = graph.as_default();
  build_program();
  const tf::train::Saver saver;
  const auto def = tf::train::export_meta_graph({.saver_def = saver.as_saver_def()});
  CHECK(tf::train::MetaGraphDef::FromString(def.SerializeToString()) == def);
  CHECK(def.graph_def == graph.as_graph_def({.add_shapes = true}));
  using tf::train::BytesList, tf::train::CollectionDef, tf::train::NodeList;
  CHECK(def.collection_def.at("fetches") == CollectionDef(NodeList{{"loss:0"}}));
  CHECK(def.collection_def.at("targets") == CollectionDef(NodeList{{"train"}}));
  CHECK(def.collection_def.at("texts") == CollectionDef(BytesList{{"two words"}}));
  CHECK(def.collection_def.at("numbers") == CollectionDef(std::vector<std::int64_t>{7}));
  CHECK(def.collection_def.at("rates") == CollectionDef(std::vector<float>{0.5F}));
  const auto& variables = std::get<BytesList>(def.collection_def.at("variables")).value;
  REQUIRE(variables.size() == 2);
  // Fields 1 to 3 of TensorFlow's VariableDef: the variable, its initializer, its value.
  CHECK(variables[0].starts_with("\x0a\x03w:0\x12\x08w/Assign\x1a\x08w/read:0"));
  const auto one = tf::train::export_meta_graph({.collection_list = {{"texts"}}});
  CHECK(one.collection_def.size() == 1);
  CHECK(!one.saver_def);
}

TEST_CASE("meta graph: another program goes on with graph and checkpoint") {
  const ScratchFolder folder;
  const std::string prefix = (folder.path() / "model").string();
  float before = 0;
  {
    Graph graph;
    const auto guard = graph.as_default();
    build_program();
    tf::train::Saver saver;
    tf::Session session;
    session.run(tf::global_variables_initializer());
    session.run(graph.get_operation_by_name("train"), {{graph.get_tensor_by_name("x:0"), kInput}});
    saver.save(session, prefix);
    before =
        session.run(graph.get_tensor_by_name("loss:0"), {{graph.get_tensor_by_name("x:0"), kInput}})
            .item<float>();
    tf::train::export_meta_graph(prefix + ".meta", {.saver_def = saver.as_saver_def()});
  }
  for (const std::string scope : {"", "again"}) {
    CAPTURE(scope);
    Graph graph;
    const auto guard = graph.as_default();
    auto saver = tf::train::import_meta_graph(
        prefix + ".meta",
        {.import_scope = scope.empty() ? std::nullopt : std::optional<std::string>(scope)});
    REQUIRE(saver);
    const std::string at = scope.empty() ? "" : scope + "/";
    const auto variables = tf::global_variables();
    REQUIRE(variables.size() == 2);
    CHECK(variables[0].name() == at + "w:0");
    CHECK(variables[0].trainable());
    CHECK(!variables[1].trainable());
    CHECK(tf::trainable_variables().at(0) == variables[0]);
    CHECK(tf::train::get_global_step()->name() == at + "global_step:0");
    CHECK(variables[0].initializer().name() == at + "w/Assign");
    tf::Session session;
    saver->restore(session, prefix);
    const Tensor loss = tf::get_collection("fetches").at(0);
    const Tensor x = graph.get_tensor_by_name(at + "x:0");
    CHECK(session.run(loss, {{x, kInput}}).item<float>() == before);
    session.run(tf::get_collection<Operation>("targets").at(0), {{x, kInput}});
    CHECK(session.run(variables[1]).item<std::int64_t>() == 2);
    CHECK(tf::get_collection<std::string>("texts").at(0) == "two words");
  }
}

TEST_CASE("meta graph: queue runners fill their queue again") {
  std::string bytes;
  {
    Graph graph;
    const auto guard = graph.as_default();
    const tf::FIFOQueue queue(4, {tf::int32}, {.shapes = {Shape{}}});
    const Operation enqueue = queue.enqueue({tf::constant(5)});
    tf::train::add_queue_runner(tf::train::QueueRunner(queue, {enqueue, enqueue}));
    tf::identity(queue.dequeue()[0], {.name = "taken"});
    bytes = tf::train::export_meta_graph().SerializeToString();
  }
  Graph graph;
  const auto guard = graph.as_default();
  CHECK(!tf::train::import_meta_graph(tf::train::MetaGraphDef::FromString(bytes)));
  tf::Session session;
  tf::train::Coordinator coordinator;
  const auto threads = tf::train::start_queue_runners(session, {.coord = &coordinator});
  CHECK(threads.size() == 3);
  for (int i = 0; i < 9; ++i) {
    CHECK(session.run(graph.get_tensor_by_name("taken:0")).item<std::int32_t>() == 5);
  }
  coordinator.request_stop();
  coordinator.join(threads);
}

TEST_CASE("meta graph: devices may be cleared, and what is wrong is named") {
  Graph graph;
  const auto guard = graph.as_default();
  {
    const auto device = tf::device("/gpu:3");
    tf::constant(1, {.name = "c"});
  }
  const auto cleared = tf::train::export_meta_graph({.clear_devices = true});
  CHECK(cleared.graph_def.node.at(0).device.empty());
  auto def = tf::train::export_meta_graph();
  CHECK(def.graph_def.node.at(0).device == "/device:GPU:3");
  const auto error = [&] {
    Graph other;
    const auto other_guard = other.as_default();
    return thrown([&] { tf::train::import_meta_graph(def); });
  };
  def.collection_def["k"] = tf::train::NodeList{{"gone:0"}};
  CHECK(error().find("KeyError") == 0);
  def.collection_def = {{"variables", tf::train::BytesList{{"\xff"}}}};
  CHECK(error() == "DataLossError: damaged VariableDef of 1 bytes");
  CHECK(thrown([] { tf::train::MetaGraphDef::FromString("\x0a"); }) ==
        "DataLossError: damaged MetaGraphDef of 1 bytes");
}

namespace {

/// The state of a graph that a failed import must leave unchanged.
struct GraphContent {
  std::size_t nodes = 0;
  std::map<std::string, std::size_t> collections;
  std::string next_name, next_scope;
  std::int64_t next_op_seed = 0;
  bool operator==(const GraphContent&) const = default;
};

GraphContent content_of(Graph& graph) {
  GraphContent found{.nodes = graph.size(), .next_op_seed = graph.next_op_seed};
  for (const std::string& key : graph.collections().keys()) {
    found.collections[key] = graph.collections().all(key).size();
  }
  found.next_name = graph.unique_name("loss", false);
  found.next_scope = graph.unique_name("again", false);
  return found;
}

}  // namespace

TEST_CASE("meta graph: an import that fails leaves nodes, names and collections as they were") {
  tf::train::MetaGraphDef whole;
  {
    Graph graph;
    const auto guard = graph.as_default();
    build_program();
    const tf::FIFOQueue queue(4, {tf::int32}, {.shapes = {Shape{}}});
    tf::train::add_queue_runner(tf::train::QueueRunner(queue, {queue.enqueue({tf::constant(5)})}));
    whole = tf::train::export_meta_graph({.saver_def = tf::train::Saver().as_saver_def()});
  }
  using tf::train::BytesList, tf::train::MetaGraphDef, tf::train::NodeList;
  const auto with = [&](const std::string& key, tf::train::CollectionDef list) {
    MetaGraphDef def = whole;
    def.collection_def[key] = std::move(list);
    return def;
  };
  const auto bytes = [&](const char* key) {
    return std::get<BytesList>(whole.collection_def.at(key)).value.at(0);
  };
  const auto renamed = [](std::string text, const std::string& from, const std::string& to) {
    REQUIRE(from.size() == to.size());  // each is preceded by its length
    const std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    return text.replace(at, from.size(), to);
  };
  const std::string variable = bytes("variables"), runner = bytes("queue_runners");
  MetaGraphDef saver = whole, node = whole;
  saver.saver_def->restore_op_name = "gone";
  node.graph_def.node.back().input = {"gone"};
  const struct {
    MetaGraphDef def;
    const char* error;
  } cases[] = {
      {with("zz", NodeList{{"loss:0", "gone:0"}}), "KeyError"},
      {with("zz", NodeList{{"gone"}}), "KeyError"},
      {with("zz", NodeList{{"loss:7"}}), "KeyError"},
      {with("zz", NodeList{{"loss:x"}}), "ValueError"},
      {with("variables", BytesList{{variable, "\xff"}}), "DataLossError"},
      {with("variables", BytesList{{variable, renamed(variable, "w:0", "u:0")}}), "KeyError"},
      {with("variables", BytesList{{renamed(variable, "w:0", "x:0")}}), "ValueError"},
      {with("variables", BytesList{{renamed(variable, "w/Assign", "w/Missin")}}), "KeyError"},
      {with("queue_runners", BytesList{{runner, renamed(runner, "fifo", "gone")}}), "KeyError"},
      {saver, "KeyError"},
      {node, "ValueError"},
  };
  using Scope = std::optional<std::string>;
  for (const Scope& scope : {Scope(), Scope("again")}) {
    Graph graph;
    const auto guard = graph.as_default();
    tf::constant(1, {.name = "before"});
    tf::add_to_collection("texts", std::string("here"));
    const auto outer = tf::name_scope("outer");
    const auto after = tf::control_dependencies({graph.get_operation_by_name("before")});
    const GraphContent content = content_of(graph);
    for (const auto& one : cases) {
      const std::string error =
          thrown([&] { tf::train::import_meta_graph(one.def, {.import_scope = scope}); });
      CAPTURE(error);
      CHECK(error.find(one.error) == 0);
      CHECK(content_of(graph) == content);
    }
    const Tensor made = tf::constant(2, {.name = "made"});  // the open scopes still apply
    CHECK(made.name() == "outer/made:0");
    CHECK(made.op().control_inputs().size() == 1);
  }
}
