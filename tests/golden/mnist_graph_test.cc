// The graph of models/mnist beside the TensorFlow program's: every node that is promised, in order,
// and all collections.
#include <doctest/doctest.h>

#include "models/mnist.h"
#include "tests/golden/describe.h"
#include "tests/golden/programs.h"
#include "tests/support/data_dir.h"

namespace {

using namespace towerflow;
using golden::Json;

/// The nodes of a recorded program, with what `set_shape` added to them later.
Json recorded_nodes(const Json& program) {
  Json nodes = Json::array();
  std::map<std::string, std::string> results;  // name of a result -> name of its tensor
  for (const Json& call : program["calls"]) {
    const Json result = call["expect"].value("result", Json());
    if (call.contains("out") && result.is_object() && result.contains("tensor")) {
      results[call["out"].get<std::string>()] = result["tensor"].get<std::string>();
    }
    for (const Json& node : call["expect"].value("nodes", Json::array())) nodes.push_back(node);
    if (call["op"] != "set_shape") continue;
    const std::string tensor = results.at(call["args"]["tensor"]["ref"].get<std::string>());
    for (Json& node : nodes) {
      if (node["name"].get<std::string>() + ":0" == tensor) node["outputs"][0][1] = result["shape"];
    }
  }
  return nodes;
}

void check_graph(int towers, bool relu_logits, const Json& program) {
  Graph graph;
  const auto guard = graph.as_default();
  models::mnist::build_towers({.num_towers = towers, .net = {.relu_logits = relu_logits}}, [] {
    return models::mnist::inputs("train.tfrecords", {.num_epochs = 5});
  });
  Json ours{{"nodes", Json::array()}}, theirs{{"nodes", recorded_nodes(program)}};
  for (std::size_t id = 0; id < graph.size(); ++id) {
    ours["nodes"].push_back(golden::describe_node(graph.operation(id)));
  }
  const golden::Comparison comparison(program);
  CHECK(comparison.visible_nodes(theirs).size() > 100);
  const std::string wrong = comparison.first_difference(theirs, ours);
  CHECK_MESSAGE(wrong.empty(), wrong);
  for (const golden::Disagreement& found : comparison.final(golden::describe_final(graph))) {
    CHECK_MESSAGE(false, found.message());
  }
}

TEST_CASE("the graph of models/mnist is the TensorFlow program's") {
  const auto programs = golden::read_program_file(towerflow::test::source_root() /
                                                  "tests/golden/programs/mnist.json");
  int checked = 0;
  for (const Json& program : programs) {
    const std::string name = program["name"];
    CAPTURE(name);
    check_graph(name[6] - '0', name.ends_with("_relu"), program);
    ++checked;
  }
  CHECK(checked == 4);
}

}  // namespace
