// Graphs as GraphDefs, with what is fed and what comes out.
#include <filesystem>
#include <fstream>
#include <functional>

#include "models/mnist.h"
#include "models/three_stage_gan.h"
#include "tests/interop/arrays.h"
#include "tests/interop/program.h"
#include "towerflow/towerflow.h"

namespace towerflow::interop {
namespace {

namespace fs = std::filesystem;

/// What a program fetches, one run after the other, and what it feeds.
struct Program {
  std::vector<Fetch> targets;
  std::vector<Tensor> outputs;
  Feeds feeds;
};

/// Numbers between -1 and 1 that are the same in each run.
Array numbers(const Shape& shape) {
  Array array(float32, shape);
  for (std::int64_t i = 0; i < array.elements(); ++i) {
    array.data<float>()[i] = static_cast<float>((i * 7919) % 2001 - 1000) / 1000;
  }
  return array;
}

/// A step of MNIST on two towers, with pictures that are fed.
Program mnist_towers() {
  namespace mnist = models::mnist;
  Program program;
  const auto batch = [&] {
    const Tensor images = placeholder(float32, {.shape = {8, models::kImagePixels}});
    const Tensor labels = placeholder(int32, {.shape = {8}});
    program.feeds.emplace_back(images, numbers(images.shape()));
    program.feeds.emplace_back(
        labels,
        Array::of<std::int32_t>(Shape{8}, std::vector<std::int32_t>{0, 1, 2, 3, 4, 5, 6, 7}));
    return models::Batch{images, labels};
  };
  const mnist::Towers towers = mnist::build_towers({.num_towers = 2}, batch);
  program.targets = {towers.train_op};
  program.outputs = towers.losses;
  return program;
}

Program three_stage_gan() {
  Program program;
  const auto towers = models::three_stage_gan::build_towers({});
  for (const auto& tower : towers.towers) {
    program.feeds.emplace_back(tower.images, numbers({4, 8, 8, 1}));
    program.feeds.emplace_back(tower.mask, Array::zeros(float32, {4, 8, 8, 1}));
    for (const Tensor& loss : {tower.losses.gen_only, tower.losses.discm_only, tower.losses.full}) {
      program.outputs.push_back(loss);
    }
  }
  program.targets = {towers.gen_only.train_op, towers.discm_only.train_op, towers.full.train_op};
  return program;
}

/// Ops that the models do not use.
Program many_ops() {
  Program program;
  const Tensor x = placeholder(float32, {.shape = {4, 6}, .name = "x"});
  program.feeds.emplace_back(x, numbers({4, 6}));
  const std::vector<Tensor> parts = split(x, 3, 1);
  const Tensor joined = concat({parts[2], parts[0]}, -1);
  const Tensor y = stack(unstack(transpose(reshape(joined, {2, -1, 4}), {1, 0, 2})), {.axis = -1});
  program.outputs = {
      y,
      strided_slice(pad(y, {{1, 1}, {0, 2}, {0, 0}}), {0, 1, 0}, {3, 4, 2}, {1, 2, 1}),
      cumsum(x, 1, {.exclusive = true, .reverse = true}),
      one_hot(argmax(x, 1), 6),
      cast(tile(expand_dims(x, 0), {2, 1, 1}), float64),
      gather(x, {1, 0}),
      where(greater(x, 0.25), nn::elu(x), nn::leaky_relu(x)),
      reduce_max(abs(x), 0, {.keepdims = true}),
      nn::log_softmax(clip_by_value(x, -0.5, 0.5))};
  return program;
}

void write_program(const fs::path& folder, const std::function<Program()>& build) {
  Graph graph;
  const auto guard = graph.as_default();
  set_random_seed(1);
  const Program program = build();
  std::vector<Tensor> variables;
  for (const Variable& variable : global_variables()) variables.push_back(variable.ref());
  const Operation init = global_variables_initializer();
  io::write_graph(graph, folder, "graph.pb", false);
  io::write_graph(graph, folder, "graph.pbtxt");

  Session session(graph, {.device_count = {{"CPU", 2}}, .allow_soft_placement = true});
  session.run(init);
  const auto named = [&](const std::vector<Tensor>& tensors, const Feeds& feeds) {
    std::vector<NamedArray> arrays;
    if (tensors.empty()) return arrays;
    const std::vector<Fetch> fetches(tensors.begin(), tensors.end());
    const std::vector<Array> values = session.run(std::span<const Fetch>(fetches), feeds);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      arrays.push_back({tensors[i].name(), values[i]});
    }
    return arrays;
  };
  std::vector<NamedArray> feeds;
  for (const Feed& feed : program.feeds) feeds.push_back({feed.tensor().name(), feed.value()});
  write_arrays(folder / "feeds", feeds);
  write_arrays(folder / "variables", named(variables, {}));
  write_arrays(folder / "outputs", named(program.outputs, program.feeds));
  std::ofstream targets(folder / "targets");
  for (const Fetch& target : program.targets) {
    session.run(std::vector<Fetch>{target}, program.feeds);
    targets << target.operation().name() << '\n';
  }
  write_arrays(folder / "updated", named(variables, {}));
  write_arrays(folder / "outputs_then", named(program.outputs, program.feeds));
}

}  // namespace

void graphs(const Arguments& arguments) {
  const fs::path folder = arguments[0];
  write_program(folder / "mnist", mnist_towers);
  write_program(folder / "gan", three_stage_gan);
  write_program(folder / "ops", many_ops);
}

}  // namespace towerflow::interop
