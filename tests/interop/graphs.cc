// Graphs as GraphDefs and MetaGraphDefs, with their feeds and results.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>

#include "core/graph/op_def.h"
#include "tests/interop/arrays.h"
#include "tests/interop/program.h"
#include "tests/models/programs.h"
#include "tests/ops/cases/build_case.h"
#include "towerflow/towerflow.h"

namespace towerflow::interop {
namespace {

namespace fs = std::filesystem;
using testing::Program;

ConfigProto two_cpus() { return {.device_count = {{"CPU", 2}}, .allow_soft_placement = true}; }

std::vector<NamedArray> named_values(Session& session, const std::vector<Tensor>& tensors,
                                     const Feeds& feeds = {}) {
  std::vector<NamedArray> arrays;
  if (tensors.empty()) return arrays;
  const std::vector<Fetch> fetches(tensors.begin(), tensors.end());
  const std::vector<Array> values = session.run(std::span<const Fetch>(fetches), feeds);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    arrays.push_back({tensors[i].name(), values[i]});
  }
  return arrays;
}

void write_feeds(const fs::path& folder, const Feeds& feeds) {
  std::vector<NamedArray> arrays;
  for (const Feed& feed : feeds) arrays.push_back({feed.tensor().name(), feed.value()});
  write_arrays(folder, arrays);
}

std::vector<Tensor> refs(const std::vector<Variable>& variables) {
  std::vector<Tensor> tensors;
  for (const Variable& variable : variables) tensors.push_back(variable.ref());
  return tensors;
}

/// Runs the program from the current values of the variables. Writes the outputs before, the
/// variables after running each target once, and the outputs then.
void write_runs(const fs::path& folder, Session& session, const Program& program) {
  const std::vector<Tensor> variables = refs(global_variables());
  write_arrays(folder / "variables", named_values(session, variables));
  write_arrays(folder / "outputs", named_values(session, program.outputs, program.feeds));
  std::ofstream targets(folder / "targets");
  for (const Operation& target : program.targets) {
    session.run(target, program.feeds);
    targets << target.name() << '\n';
  }
  write_arrays(folder / "updated", named_values(session, variables));
  write_arrays(folder / "outputs_then", named_values(session, program.outputs, program.feeds));
  if (!program.unordered_step) return;
  session.run(*program.unordered_step, program.feeds);
  std::ofstream(folder / "unordered_step") << program.unordered_step->name();
  write_arrays(folder / "trained", named_values(session, refs(trainable_variables())));
}

/// Writes the names in the collections that TensorFlow also has, one per line.
void write_collections(const fs::path& file) {
  std::ofstream lines(file);
  for (const char* key :
       {GraphKeys::GLOBAL_VARIABLES, GraphKeys::TRAINABLE_VARIABLES, GraphKeys::MODEL_VARIABLES,
        GraphKeys::MOVING_AVERAGE_VARIABLES, GraphKeys::GLOBAL_STEP, GraphKeys::LOSSES,
        GraphKeys::UPDATE_OPS, GraphKeys::SUMMARIES, GraphKeys::TRAIN_OP}) {
    for (const CollectionItem& item : get_default_graph().collections().all(key)) {
      lines << key << ' ' << item.name.value() << '\n';
    }
  }
}

/// Writes the default graph and the results of running `program`, which is in it.
void write_program(const fs::path& folder, const Program& program) {
  const Operation init = global_variables_initializer();
  Graph& graph = get_default_graph();
  io::write_graph(graph, folder, "graph.pb", false);
  io::write_graph(graph, folder, "graph.pbtxt");
  if (!global_variables().empty()) {
    const train::Saver saver;
    train::export_meta_graph((folder / "graph.meta").string(), {.saver_def = saver.as_saver_def()});
  }
  std::ofstream(folder / "init") << init.name();
  write_collections(folder / "collections");
  write_feeds(folder / "feeds", program.feeds);
  Session session(graph, two_cpus());
  session.run(init);
  write_runs(folder, session, program);
}

/// Returns whether a graph calls a function of the program, which no file can hold.
bool calls_program(const Graph& graph) {
  const auto operations = graph.get_operations();
  return std::any_of(operations.begin(), operations.end(),
                     [](const Operation& op) { return op.type().starts_with("PyFunc"); });
}

/// Returns whether runs are repeatable: the graph has no queues, readers or similar ops.
bool can_repeat(const Graph& graph) {
  const auto operations = graph.get_operations();
  return std::none_of(operations.begin(), operations.end(), [](const Operation& op) {
    const Effect effect = OpRegistry::global().get(op.type()).effect;
    return op.type() != "Placeholder" && (effect == Effect::stateful || effect == Effect::io);
  });
}

}  // namespace

void graphs(const Arguments& arguments) {
  const fs::path folder = arguments[0];
  for (const auto& [name, build] : testing::programs()) {
    Graph graph;
    const auto guard = graph.as_default();
    set_random_seed(1);
    write_program(folder / "programs" / name, build());
  }
  // Sizes are unknown where possible, since gradients then have the most nodes.
  for (const testing::OpCase& one : testing::op_cases()) {
    DType dtype = one.python_dtype;
    if (dtype == DType::invalid) dtype = testing::has_float64(one) ? float64 : one.dtypes.front();
    testing::BuiltCase built(one, {.dtype = dtype, .unknown_shapes = !one.needs_sizes});
    if (!can_repeat(built.graph()) || calls_program(built.graph())) continue;
    write_program(folder / "cases" / one.name, {built.tensors(), {}, built.feeds(), {}});
  }
}

void run_meta_graph(const Arguments& arguments) {
  const fs::path folder = arguments[0];
  Graph graph;
  const auto guard = graph.as_default();
  auto saver = train::import_meta_graph((folder / "model.meta").string());
  if (!saver) throw ValueError("the MetaGraphDef has no variables");
  Program program;
  for (const NamedArray& feed : read_arrays(folder / "feeds")) {
    program.feeds.emplace_back(graph.get_tensor_by_name(feed.name), feed.value);
  }
  for (const Tensor& loss : get_collection<Tensor>(GraphKeys::LOSSES)) {
    program.outputs.push_back(loss);
  }
  for (const Operation& op : get_collection<Operation>(GraphKeys::TRAIN_OP)) {
    program.targets.push_back(op);
  }
  Session session(graph, two_cpus());
  saver->restore(session, (folder / "model").string());
  write_runs(folder / "ours", session, program);
  write_collections(folder / "collections");
  write_arrays(folder / "trainable", named_values(session, refs(trainable_variables())));
}

}  // namespace towerflow::interop
