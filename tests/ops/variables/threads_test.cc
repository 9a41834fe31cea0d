// Threads that build at the same time: each its own graph, or one graph in separate scopes.
#include <doctest/doctest.h>

#include <string>
#include <thread>
#include <vector>

#include "towerflow/tf.h"

namespace towerflow {
namespace {

/// Returns names and devices of the nodes of a program with towers.
std::vector<std::string> recorded() {
  Graph graph;
  const auto as_default = graph.as_default();
  for (int tower = 0; tower < 2; ++tower) {
    const auto on = device("/gpu:" + std::to_string(tower));
    const auto name = name_scope("tower_" + std::to_string(tower));
    const auto net = variable_scope("net", {.reuse = AUTO_REUSE});
    const auto inner = variable_scope(None, {.default_name = "layer"});
    const Variable w = get_variable("w", Shape{3, 2});
    add_to_collection(GraphKeys::LOSSES, reduce_sum(w * 2.0));
  }
  const Variable w = trainable_variables()[0];
  gradients(get_collection(GraphKeys::LOSSES), {w});
  std::vector<std::string> names;
  for (const Operation& op : graph.get_operations()) names.push_back(op.name() + op.device());
  return names;
}

TEST_CASE("threads record graphs of their own at the same time") {
  const std::vector<std::string> alone = recorded();
  std::vector<std::vector<std::string>> together(4);
  std::vector<std::thread> threads;
  for (auto& names : together) {
    threads.emplace_back([&names] {
      for (int i = 0; i < 20; ++i) names = recorded();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& names : together) CHECK(names == alone);
}

TEST_CASE("a thread records on devices while another one runs the graph") {
  Graph graph;
  const auto as_default = graph.as_default();
  const Tensor one = constant(1.0f);
  std::thread recording([&] {
    const auto here = graph.as_default();
    const auto on = device("/cpu:0");
    Tensor sum = one;
    for (int i = 0; i < 200; ++i) sum = sum + 1.0;
  });
  Session session;
  for (int i = 0; i < 50; ++i) CHECK(session.run(one).data<float>()[0] == 1.0f);
  recording.join();
  for (const Operation& op : graph.get_operations()) {
    if (op.type() == "AddV2") CHECK(op.device() == "/device:CPU:0");
  }
  CHECK(session.run(graph.get_tensor_by_name("add_199:0")).data<float>()[0] == 201.0f);
}

TEST_CASE("default graph, open scopes and counts of default names belong to a thread") {
  Graph graph;
  const auto as_default = graph.as_default();
  const auto scope = variable_scope("outer");
  const auto layer = variable_scope(None, {.default_name = "d"});
  std::string in_thread, default_name;
  bool own_default = false;
  std::thread([&] {
    own_default = &get_default_graph() != &graph;
    const auto here = graph.as_default();
    in_thread = get_variable_scope().name();
    const auto outer = variable_scope("outer");
    const auto again = variable_scope(None, {.default_name = "d"});
    default_name = again.name();
  }).join();
  CHECK(own_default);
  CHECK(in_thread == "");
  CHECK(default_name == "outer/d");  // although "outer/d" is open in the main thread
}

TEST_CASE("a guard that ends on another thread does no harm there") {
  Graph graph;
  const auto as_default = graph.as_default();
  auto scope = std::make_unique<NameScope>(graph, "n", Site::current());
  std::thread([&] { scope.reset(); }).join();
  CHECK(graph.size() == 0);
}

TEST_CASE("many graphs at once keep what each has open") {
  std::vector<std::unique_ptr<Graph>> graphs;
  for (int i = 0; i < 200; ++i) {
    graphs.push_back(std::make_unique<Graph>());
    const auto as_default = graphs.back()->as_default();
    get_variable("w", Shape{1});
    get_variable_scope().reuse_variables();
  }
  for (const auto& graph : graphs) {
    const auto as_default = graph->as_default();
    CHECK(get_variable_scope()->reuse() == Reuse(true));
    CHECK_THROWS_AS(get_variable("v", Shape{1}), ValueError);
  }
}

}  // namespace
}  // namespace towerflow
