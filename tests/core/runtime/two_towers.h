// A training step of two towers, and helpers that run it, for tests of timing and of failures.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <stdexcept>

#include "core/device/backend_registry.h"
#include "core/runtime/executor.h"
#include "tests/support/eager.h"
#include "towerflow/tf.h"

namespace towerflow::testing {

/// Two towers on /gpu:0 and /gpu:1 with their feeds, and momentum on three variables. Variables
/// with a device as home are distributed: w and u are on the first, b on the second.
struct Program {
  explicit Program(VariableHome home = VariableHome::host) {
    const auto guard = graph.as_default();
    tf::set_random_seed(5);
    tf::train::MomentumOptimizer opt(0.5, 0.5);
    std::vector<std::vector<GradAndVar>> towers;
    for (int i = 0; i < 2; ++i) {
      const auto device = tf::device("/gpu:" + std::to_string(i));
      const auto scope = tf::name_scope("tower_" + std::to_string(i));
      const auto reuse = tf::variable_scope(tf::get_variable_scope(), {.reuse = i > 0});
      inputs.push_back(tf::placeholder(tf::float64, {.shape = {4, 6}, .name = "x"}));
      const auto get = [home](const char* name, const char* gpu, const Shape& shape) {
        const auto place = tf::device(home == VariableHome::device ? gpu : "/cpu:0");
        return tf::get_variable(name, shape, {.dtype = tf::float64, .home = home});
      };
      const Variable w = get("w", "/gpu:0", {6, 5}), b = get("b", "/gpu:1", {5});
      const Variable u = get("u", "/gpu:0", {5, 3});
      const Tensor all = tf::matmul(tf::tanh(tf::matmul(inputs.back(), w) + b), u);
      const Tensor y = tf::gather(all, {3, 0, 2, 1});  // may fail, so the commit waits for it
      losses.push_back(tf::reduce_sum(y * y));
      towers.push_back(opt.compute_gradients(losses.back()));
    }
    train = opt.apply_gradients(average_gradients(towers));
    init = tf::global_variables_initializer();
    variables = tf::global_variables();
    fetches = {train, losses[0], losses[1]};
    for (const Variable& variable : variables) {
      given.push_back(tf::placeholder(tf::float64, {.shape = variable.shape(), .name = "given"}));
      loads.emplace_back(tf::assign(variable, given.back()).op());
    }
  }

  static Array input(int tower, int step) {
    Array x(float64, {4, 6});
    for (int i = 0; i < 24; ++i) {
      x.data<double>()[i] = (i * 7 + tower * 5 + step * 3) % 11 * 0.1 - 0.5;
    }
    return x;
  }
  Feeds feeds(int step) const { return {{inputs[0], input(0, step)}, {inputs[1], input(1, step)}}; }
  std::vector<Array> values(Session& session) const {
    return session.run(std::vector<Fetch>(variables.begin(), variables.end()));
  }

  void load(Session& session, const std::vector<Array>& values) const {
    Feeds feeds;
    for (std::size_t i = 0; i < values.size(); ++i) feeds.emplace_back(given[i], values[i]);
    session.run(loads, feeds);
  }

  Graph graph;
  std::vector<Tensor> inputs, losses, given;
  std::vector<Fetch> loads;
  Operation train, init;
  std::vector<Variable> variables;
  std::vector<Fetch> fetches;
};

inline ConfigProto simulated(SimulatedDevices devices) {
  return {.allow_soft_placement = true, .simulated = std::move(devices)};
}

/// Returns the losses of three steps and the variables after them.
inline std::vector<Array> train_three_steps(Program& program, const ConfigProto& config) {
  Session session(program.graph, config);
  session.run(program.init);
  std::vector<Array> all;
  for (int step = 0; step < 3; ++step) {
    const auto results = session.run(program.fetches, program.feeds(step));
    all.insert(all.end(), results.begin() + 1, results.end());
  }
  const auto values = program.values(session);
  all.insert(all.end(), values.begin(), values.end());
  return all;
}

/// Returns how many values have changed as in `after`. Fails if a value is neither that of `before`
/// nor that of `after`.
inline int count_changed(const std::vector<Array>& values, const std::vector<Array>& before,
                         const std::vector<Array>& after) {
  int changed = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool old = values[i] == before[i], fresh = values[i] == after[i];
    CHECK((old || fresh));
    changed += fresh && !old;
  }
  return changed;
}

/// The parts of a session without the session, so that a test can intervene between instructions.
struct Runtime {
  Runtime(Graph& graph, const ConfigProto& config) : devices(make_backends(config)) {
    for (std::size_t i = 0; i < graph.size(); ++i) groups.add(graph.operation(i).node(), true);
  }
  Plan compile(const std::vector<Fetch>& fetches, const Feeds& feeds) {
    std::vector<FeedSpec> specs;
    for (const Feed& feed : feeds) {
      specs.push_back({feed.tensor(), feed.value().dtype(), feed.value().shape()});
    }
    return compile_plan(fetches, specs, devices, kernels,
                        {.groups = groups, .soft_placement = true, .passes = {}});
  }
  std::vector<Array> run(const Plan& plan, const Feeds& feeds,
                         std::function<void(std::size_t, std::size_t)> before = {}) {
    Frame frame(plan, devices, resources);
    Cancellation cancellation;
    RunContext context{resources, cancellation};
    std::vector<Array> values, results;
    for (const Feed& feed : feeds) values.push_back(feed.value().copy());
    frame.begin(arenas, values, false);
    try {
      execute({.plan = plan,
               .frame = frame,
               .context = context,
               .kernels = kernels,
               .devices = devices,
               .before = std::move(before)},
              workers);
      frame.take_results(results);
    } catch (...) {
      frame.end(arenas);
      arenas.free_idle_blocks();  // frees the memory, so that sanitizers see a late use of it
      throw;
    }
    frame.end(arenas);
    return results;
  }

  ColocationGroups groups;
  DeviceSet devices;
  ResourceStore resources;
  KernelCache kernels;
  ArenaPool arenas{devices};
  Workers workers;
};

struct InjectedError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace towerflow::testing
