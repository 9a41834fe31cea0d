// `towerflow bench graph`: the cost of recording a program, before anything runs.
#include "tools/bench.h"

#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "parallel/average_gradients.h"
#include "tools/command.h"
#include "tools/json_line.h"
#include "tools/options.h"
#include "tools/serve.h"
#include "towerflow/towerflow.h"

namespace towerflow::tools {
namespace {

constexpr const char* kGraphHelp =
    "Records a program of fully connected layers on towers, with their gradients, averages and\n"
    "updates, and runs nothing: one line a graph with its operations, its time and the time of "
    "one\n"
    "operation, in microseconds (us).\n"
    "\n"
    "Example: towerflow bench graph --layers 500 --num-towers 4";

struct GraphArguments {
  std::int64_t layers = 100, towers = 2, windows = 5;
  bool serve = false, json = false;
};

struct Recorded {
  std::size_t ops = 0;
  double seconds = 0;
  double us_per_op() const { return 1e6 * seconds / static_cast<double>(ops); }
};

/// Records towers that share the variables of fully connected layers, their gradients, averages and
/// updates, as bench/tf_graph_building.py does.
Recorded record(std::int64_t layers, std::int64_t towers) {
  const auto start = std::chrono::steady_clock::now();
  Graph graph;
  const auto as_default = graph.as_default();
  set_random_seed(1);
  train::MomentumOptimizer optimizer(0.01, 0.9);
  std::vector<std::vector<GradAndVar>> tower_grads;
  {
    const auto root = variable_scope(get_variable_scope());
    for (std::int64_t tower = 0; tower < towers; ++tower) {
      const auto on = device(fmt::format("/gpu:{}", tower));
      const auto scope = name_scope(fmt::format("tower_{}", tower));
      Tensor hidden = placeholder(DType::float32, {.shape = {None, 32}, .name = "x"});
      for (std::int64_t layer = 0; layer < layers; ++layer) {
        const auto variables = variable_scope(fmt::format("layer_{}", layer));
        const Variable weights =
            get_variable("weights", Shape{32, 32},
                         {.initializer = truncated_normal_initializer({.stddev = 0.1})});
        const Variable biases =
            get_variable("biases", Shape{32}, {.initializer = zeros_initializer()});
        hidden = nn::relu(matmul(hidden, weights) + biases);
      }
      const Tensor loss = reduce_mean(hidden);
      add_to_collection(GraphKeys::LOSSES, loss);
      get_variable_scope().reuse_variables();
      tower_grads.push_back(optimizer.compute_gradients(loss));
    }
  }
  optimizer.apply_gradients(average_gradients(tower_grads));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  return {graph.size(), took.count()};
}

std::string recorded_json(const Recorded& one) {
  nlohmann::ordered_json line;
  line["ops"] = one.ops;
  line["seconds"] = one.seconds;
  line["us_per_op"] = one.us_per_op();
  return json_line(line);
}

void bench_graph(const GraphArguments& arguments) {
  if (arguments.serve) {
    return serve("layers", [&](std::int64_t layers) {
      return recorded_json(record(layers, arguments.towers));
    });
  }
  for (std::int64_t i = 0; i < arguments.windows; ++i) {
    const Recorded one = record(arguments.layers, arguments.towers);
    if (arguments.json) {
      fmt::print("{}\n", recorded_json(one));
    } else {
      fmt::print("{} operations in {:.1f} ms: {:.2f} us each\n", one.ops, 1e3 * one.seconds,
                 one.us_per_op());
    }
  }
}

}  // namespace

void add_bench_graph(CLI::App& parent) {
  CLI::App& app =
      add_subcommand(parent, "graph", "the recording of a graph, not its running", kGraphHelp);
  const auto arguments = std::make_shared<GraphArguments>();
  add_integer(app, "--layers", arguments->layers, "fully connected layers of each tower",
              {.least = 1});
  add_integer(app, "--num-towers", arguments->towers, "towers", {.least = 1, .most = 1024});
  add_integer(app, "--windows", arguments->windows, "graphs to record");
  add_flag(app, "--serve", arguments->serve,
           "record when told to on standard input: a number of layers a line");
  add_json(app, arguments->json);
  set_action(app, [arguments] { bench_graph(*arguments); });
}

}  // namespace towerflow::tools
