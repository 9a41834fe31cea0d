#include "tests/golden/graph_check.h"

#include <doctest/doctest.h>

#include <set>

#include "core/runtime/session.h"
#include "tests/golden/describe.h"
#include "tests/golden/value.h"

namespace towerflow::golden {
namespace {

/// Returns the nodes of a recorded program with the shapes of later `set_shape` calls.
Json recorded_nodes(const Json& program) {
  Json nodes = Json::array();
  std::map<std::string, std::string> results;  // name of a result -> name of its tensor
  for (const Json& call : program["calls"]) {
    if (call["op"] == "global_variables_initializer" && nodes.size() > 0 &&
        program["calls"].back()["op"] == "run") {
      break;
    }
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

/// The results of calls by the names under which later calls refer to them.
class Results {
 public:
  explicit Results(const Json& program) {
    for (const Json& call : program["calls"]) {
      if (!call.contains("out") || !call["expect"].contains("result")) continue;
      results_[call["out"].get<std::string>()] = call["expect"]["result"];
    }
  }
  /// Returns the tensor, variable or operation of the graph that a reference means.
  Fetch fetch(const Graph& graph, const Json& reference) const {
    Json result = results_.at(reference.at("ref").get<std::string>());
    for (const Json& part : reference.value("path", Json::array())) {
      result = Json(result.at(part.get<std::size_t>()));
    }
    if (result.contains("operation")) {
      return graph.get_operation_by_name(result["operation"].get<std::string>());
    }
    const char* kind = result.contains("variable") ? "variable" : "tensor";
    return graph.get_tensor_by_name(result.at(kind).get<std::string>());
  }

 private:
  std::map<std::string, Json> results_;
};

}  // namespace

void check_graph(const Graph& graph, const Json& program) {
  Json ours{{"nodes", Json::array()}}, theirs{{"nodes", recorded_nodes(program)}};
  std::set<std::string> recorded_ops;  // of an outline
  for (const Json& op : program.value("outline", Json::array())) recorded_ops.insert(op);
  for (std::size_t id = 0; id < graph.size(); ++id) {
    const Operation op = graph.operation(id);
    if (!recorded_ops.empty() && !recorded_ops.contains(op.type())) continue;
    ours["nodes"].push_back(describe_node(op));
  }
  const Comparison comparison(program);
  CHECK(comparison.visible_nodes(theirs).size() > 80);
  const std::string wrong = comparison.first_difference(theirs, ours);
  CHECK_MESSAGE(wrong.empty(), wrong);
  for (const Disagreement& found : comparison.final(describe_final(graph))) {
    CHECK_MESSAGE(false, found.message());
  }
}

void check_runs(Graph& graph, const Json& program) {
  const Results results(program);
  Session session(graph, {.device_count = {{"CPU", 1}}, .allow_soft_placement = true});
  int compared = 0;
  for (const Json& call : program["calls"]) {
    if (call["op"] != "run") continue;
    CAPTURE(call["args"].dump());
    std::vector<Fetch> fetches;
    Feeds feeds;
    for (const Json& fetch : call["args"]["fetches"]) {
      fetches.push_back(results.fetch(graph, fetch));
    }
    for (const Json& feed : call["args"].value("feeds", Json::array())) {
      const Tensor tensor = *results.fetch(graph, feed[0]).tensor();
      feeds.emplace_back(tensor, *decode(feed[1], {}).get_if<Array>());
    }
    const std::vector<Array> values = session.run(std::span<const Fetch>(fetches), feeds);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const Json& expected = call["expect"]["values"][i];
      if (expected.is_null()) continue;
      const std::string wrong = compare_arrays(expected, describe_array(values[i], true), "close");
      CHECK_MESSAGE(wrong.empty(), "value ", i, ": ", wrong);
      ++compared;
    }
  }
  CHECK(compared > 0);
}

std::string first_error(const Json& program) {
  for (const Json& call : program["calls"]) {
    if (call["expect"].contains("error")) return call["expect"]["error"];
  }
  return "";
}

}  // namespace towerflow::golden
