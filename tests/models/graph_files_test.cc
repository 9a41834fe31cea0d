// The models' graphs, exported as GraphDef and MetaGraphDef and imported again, have the same
// nodes, plans and values.
#include <doctest/doctest.h>

#include <algorithm>

#include <functional>

#include "core/graph/graph_def.h"
#include "core/graph/op_def.h"
#include "tests/models/programs.h"
#include "tests/support/data_dir.h"
#include "tests/support/imported_nodes.h"
#include "towerflow/tf.h"

using namespace towerflow;
using testing::Program;

namespace {

/// A program with feeds and fetches by name.
struct NamedProgram {
  std::vector<std::string> outputs, targets;
  std::vector<std::pair<std::string, Array>> feeds;

  explicit NamedProgram(const Program& program) {
    for (const Tensor& output : program.outputs) outputs.push_back(output.name());
    for (const Operation& target : program.targets) targets.push_back(target.name());
    if (program.unordered_step) targets.push_back(program.unordered_step->name());
    for (const Feed& feed : program.feeds) feeds.emplace_back(feed.tensor().name(), feed.value());
  }

  /// Returns runs of the outputs, then of each target separately, then of all together.
  std::vector<std::pair<std::vector<Fetch>, Feeds>> runs_in(const Graph& graph) const {
    const auto found_feeds = [&](const auto& named) {
      Feeds found;
      for (const auto& [name, value] : named) {
        found.emplace_back(graph.get_tensor_by_name(name), value);
      }
      return found;
    };
    std::vector<Fetch> all;
    for (const std::string& name : outputs) all.emplace_back(graph.get_tensor_by_name(name));
    std::vector<std::pair<std::vector<Fetch>, Feeds>> runs{{all, found_feeds(feeds)}};
    for (const std::string& name : targets) {
      all.emplace_back(graph.get_operation_by_name(name));
      runs.emplace_back(std::vector<Fetch>{all.back()}, found_feeds(feeds));
    }
    runs.emplace_back(std::move(all), found_feeds(feeds));
    return runs;
  }
};

/// The plans of all runs of a program, and their results.
struct Behaviour {
  std::vector<std::string> plans;
  std::vector<Array> values;
};

Behaviour run_behaviour(Graph& graph, const NamedProgram& program, const ConfigProto& config) {
  Behaviour found;
  Session session(graph, config);
  session.run(graph.get_operation_by_name("init"));
  for (const auto& [fetches, feeds] : program.runs_in(graph)) {
    found.plans.push_back(session.plan_report(fetches, feeds));
    for (Array& value : session.run(std::span<const Fetch>(fetches), feeds)) {
      found.values.push_back(std::move(value));
    }
  }
  for (const Operation& op : graph.get_operations()) {
    if (op.type() == "VariableV2") found.values.push_back(session.run(op.output(0)));
  }
  return found;
}

/// Returns the nodes as they are in the graph.
std::vector<NodeDef> nodes_of(const Graph& graph) {
  return graph.as_graph_def({.add_shapes = true, .for_display = true}).node;
}

std::vector<ConfigProto> configs() {
  ConfigProto cpus{.device_count = {{"CPU", 2}}, .allow_soft_placement = true};
  ConfigProto accelerators{.device_count = {{"CPU", 1}}, .allow_soft_placement = true};
  accelerators.simulated = {.count = 2, .latency = 0};
  return {cpus, accelerators};
}

void check_imported_graph(const Graph& graph, const NamedProgram& named,
                          const std::vector<Behaviour>& before,
                          const std::function<void()>& import) {
  Graph again;
  const auto guard = again.as_default();
  import();
  std::vector<NodeDef> wanted = testing::as_imported(nodes_of(graph)), found = nodes_of(again);
  REQUIRE(found.size() == wanted.size());
  // The gradients of a loop add nodes to it for which earlier nodes wait: the file, and with it the
  // imported graph, has them in another order.
  const bool has_loops =
      std::any_of(wanted.begin(), wanted.end(), [](const auto& n) { return n.op == "Enter"; });
  if (has_loops) {
    std::ranges::sort(wanted, {}, &NodeDef::name);
    std::ranges::sort(found, {}, &NodeDef::name);
  }
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    CAPTURE(wanted[i].name);
    CHECK(found[i] == wanted[i]);
  }
  for (std::size_t i = 0; i < before.size(); ++i) {
    CAPTURE(i);
    const Behaviour now = run_behaviour(again, named, configs()[i]);
    CHECK((has_loops || now.plans == before[i].plans));
    CHECK(now.values == before[i].values);
  }
}

}  // namespace

TEST_CASE("graph files: what is imported again has the same plans and the same bits") {
  for (const auto& program : testing::programs()) {
    const std::string& name = program.first;
    CAPTURE(name);
    Graph graph;
    const auto guard = graph.as_default();
    tf::set_random_seed(1);
    const NamedProgram named(program.second());
    tf::global_variables_initializer();
    tf::train::ExportMetaGraphOptions options;
    if (!tf::global_variables().empty()) options.saver_def = tf::train::Saver().as_saver_def();
    std::vector<Behaviour> before;
    for (const ConfigProto& config : configs()) {
      before.push_back(run_behaviour(graph, named, config));
    }
    CHECK(before[0].plans.at(0).find("queue /job:") != std::string::npos);
    const std::string bytes = graph.as_graph_def({.add_shapes = true}).SerializeToString();
    check_imported_graph(graph, named, before,
                         [&] { tf::import_graph_def(GraphDef::FromString(bytes), {.name = ""}); });
    const std::string meta_bytes = tf::train::export_meta_graph(options).SerializeToString();
    check_imported_graph(graph, named, before, [&] {
      tf::train::import_meta_graph(tf::train::MetaGraphDef::FromString(meta_bytes));
    });
  }
}

TEST_CASE("graph files: no node is left of an op that TensorFlow lacks") {
  for (const auto& program : testing::programs()) {
    const std::string& name = program.first;
    CAPTURE(name);
    Graph graph;
    const auto guard = graph.as_default();
    program.second();
    tf::global_variables_initializer();
    std::size_t forms = 0;
    for (const NodeDef& node : graph.as_graph_def().node) {
      CAPTURE(node.name);
      const OpDef* op = OpRegistry::global().find(node.op);
      const bool is_last = node.attr.contains("_original_op");
      CHECK((op == nullptr || op->export_form == nullptr || is_last));
      forms += is_last ? 1 : 0;
    }
    const bool has_forms = name != "ops" && name != "mnist" && name != "batch_norm";
    CHECK((forms > 0) == has_forms);
  }
}
