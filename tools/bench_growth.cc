// `towerflow bench growth`: whether recording and planning stay linear in the size of a graph.
#include "tools/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tools/command.h"
#include "tools/json_line.h"
#include "tools/options.h"
#include "towerflow/towerflow.h"

namespace towerflow::tools {
namespace {

constexpr const char* kGrowthHelp =
    "Records graphs of a few shapes in growing sizes, runs each twice and prints what one piece\n"
    "costs to record, to plan and run, and to run again, in microseconds (us). Where the figures\n"
    "of a column stay as they are, that part is linear. A shape ends early when one size has "
    "taken\n"
    "longer than --patience seconds.\n"
    "\n"
    "Example: towerflow bench growth --shape identity --largest 100000";

/// The operations of a graph to run.
struct Program {
  std::vector<Fetch> fetches;
  std::vector<Operation> before;  ///< run once, before the fetches
  Feeds feeds;
};

using Build = std::function<Program(int)>;

Tensor input() { return placeholder(DType::float32, {.shape = Shape{2}, .name = "in"}); }

Array two_floats() { return Array::of<float>(Shape{2}, std::vector<float>{0.25f, 0.5f}); }

/// Returns a program with one input.
Program fed(const Tensor& x, std::vector<Fetch> fetches) {
  Program program;
  program.fetches = std::move(fetches);
  program.feeds.emplace_back(x, two_floats());
  return program;
}

/// Builds a chain of `n` ops made by `next`.
Build chain(std::function<Tensor(const Tensor&, int)> next) {
  return [next](int n) {
    const Tensor x = input();
    Tensor y = x;
    for (int i = 0; i < n; ++i) y = next(y, i);
    return fed(x, {y});
  };
}

Tensor varied_op(const Tensor& x, int i) {
  switch (i % 6) {
    case 0:
      return nn::relu(x);
    case 1:
      return identity(x);
    case 2:
      return reshape(x, {1, 2});
    case 3:
      return tanh(x);
    case 4:
      return reshape(x, {2});
    default:
      return cumsum(x);
  }
}

std::vector<Tensor> consumers_of(const Tensor& x, int n) {
  std::vector<Tensor> made;
  for (int i = 0; i < n; ++i) made.push_back(i % 2 == 0 ? nn::relu(x) : cumsum(x));
  return made;
}

Program fan_of_fetches(int n) {
  const Tensor x = input();
  const std::vector<Tensor> made = consumers_of(x, n);
  return fed(x, {made.begin(), made.end()});
}

/// Builds a program in which one op takes all `n` consumers of one tensor.
Build build_fan(std::function<Fetch(const std::vector<Tensor>&)> taker) {
  return [taker](int n) {
    const Tensor x = input();
    return fed(x, {taker(consumers_of(x, n))});
  };
}

Program group_of_no_ops(int n) {
  std::vector<Operation> made;
  for (int i = 0; i < n; ++i) made.push_back(no_op());
  return {.fetches = {group(made)}, .before = {}, .feeds = {}};
}

/// Each addition waits for the previous one through a control dependency.
Program control_chain(int n) {
  const Tensor x = input();
  Tensor y = x;
  for (int i = 0; i < n; ++i) {
    const auto after = control_dependencies({y});
    y = x + 1.0f;
  }
  return fed(x, {y});
}

/// Sums of random numbers, each followed by a node that waits for all sums so far.
Program growing_waits(int n) {
  Tensor sum = input();
  const Tensor x = sum;
  std::vector<Operation> waiting;
  for (int i = 0; i < n; ++i) {
    sum = sum + random_uniform({2}, {.seed = 1});
    const auto after = control_dependencies({sum});
    waiting.push_back(no_op());
  }
  return fed(x, {group(waiting)});
}

/// Each of `n` nodes waits for a group of `n` others.
Program group_before_all(int n) {
  std::vector<Operation> first, then;
  for (int i = 0; i < n; ++i) first.push_back(random_uniform({2}, {.seed = 1}).op());
  const Operation all = group(first);
  for (int i = 0; i < n; ++i) {
    const auto after = control_dependencies({all});
    then.push_back(random_uniform({2}, {.seed = 1}).op());
  }
  return {.fetches = {group(then)}, .before = {}, .feeds = {}};
}

Program training(int n) {
  std::vector<Tensor> losses;
  for (int i = 0; i < n; ++i) {
    const Variable weights =
        get_variable(fmt::format("weights_{}", i), {2}, {.initializer = zeros_initializer()});
    losses.push_back(square(weights));
  }
  train::MomentumOptimizer optimizer(0.1, 0.9);
  const Operation step = optimizer.minimize(reduce_sum(add_n(losses)));
  return {.fetches = {step}, .before = {global_variables_initializer()}, .feeds = {}};
}

Program reads_of_variables(int n) {
  Program program;
  for (int i = 0; i < n; ++i) {
    program.fetches.emplace_back(
        get_variable(fmt::format("v_{}", i), {2}, {.initializer = zeros_initializer()}));
  }
  program.before = {global_variables_initializer()};
  return program;
}

/// One variable that is changed `n` times and read after each change.
Program changes_of_one_variable(int n) {
  const Variable v = get_variable("v", {2}, {.initializer = zeros_initializer()});
  Operation last = v.op();
  std::vector<Operation> reads;
  for (int i = 0; i < n; ++i) {
    const auto after = control_dependencies({last});
    last = assign_add(v, std::vector<float>{1, 1}).op();
    const auto then = control_dependencies({last});
    reads.push_back(identity(v.read_value()).op());
  }
  return {.fetches = {group(reads)}, .before = {global_variables_initializer()}, .feeds = {}};
}

Program gradient_of_chain(int n) {
  const Tensor x = input();
  Tensor y = x;
  for (int i = 0; i < n; ++i) y = tanh(y);
  return fed(x, {gradients({y}, {x})[0]->dense()});
}

Program gradient_of_fan(int n) {
  const Tensor x = input();
  return fed(x, {gradients({add_n(consumers_of(x, n))}, {x})[0]->dense()});
}

Program gradients_of_many(int n) {
  const Tensor x = input();
  std::vector<Tensor> xs;
  for (int i = 0; i < n; ++i) xs.push_back(x + 1.0f);
  const auto dxs = gradients(add_n(xs), xs);
  std::vector<Fetch> fetches;
  for (const OptionalGradient& dx : dxs) fetches.emplace_back(dx->dense());
  return fed(x, std::move(fetches));
}

/// Many ops with the same name, after other ops have taken the numbered names.
Program equal_names(int n) {
  for (int i = 1; i <= n / 2; ++i) no_op({.name = fmt::format("x_{}", i)});
  Operation last;
  for (int i = 0; i < n / 2; ++i) last = no_op({.name = "x"});
  return {.fetches = {last}, .before = {}, .feeds = {}};
}

Program summaries(int n) {
  const Tensor x = placeholder(DType::float32, {.shape = Shape{}, .name = "in"});
  for (int i = 0; i < n; ++i) summary::scalar("s", x);
  Program program;
  program.fetches = {*summary::merge_all()};
  program.feeds.emplace_back(x, Array::scalar(1.0f));
  return program;
}

Program collected_losses(int n) {
  const Tensor x = input();
  for (int i = 0; i < n; ++i) {
    const auto scope = name_scope(i % 2 == 0 ? "a" : "b");
    add_to_collection(GraphKeys::LOSSES, nn::relu(x));
  }
  return fed(x, {add_n(get_collection(GraphKeys::LOSSES, "a.*"))});
}

Program many_feeds(int n) {
  Program program;
  std::vector<Tensor> xs;
  for (int i = 0; i < n; ++i) {
    xs.push_back(input());
    program.feeds.emplace_back(xs.back(), two_floats());
    program.fetches.emplace_back(xs.back());
  }
  return program;
}

Program colocated(int n) {
  const Tensor x = input();
  Tensor y = x;
  for (int i = 0; i < n; ++i) {
    const auto beside = colocate_with(y.op());
    y = identity(y);
  }
  return fed(x, {y});
}

struct GrowthShape {
  const char* name;
  Build build;
};

std::vector<GrowthShape> growth_shapes() {
  using Tensors = std::vector<Tensor>;
  return {
      {"identity", chain([](const Tensor& x, int) { return identity(x); })},
      {"elementwise",
       chain([](const Tensor& x, int i) { return i % 2 == 0 ? nn::relu(x) : tanh(x); })},
      {"views", chain([](const Tensor& x, int i) {
         return i % 2 == 0 ? stop_gradient(x) : reshape(x, {2});
       })},
      {"mixed", chain(varied_op)},
      {"colocated", colocated},
      {"control", control_chain},
      {"fan-out", fan_of_fetches},
      {"add_n", build_fan([](const Tensors& all) { return Fetch(add_n(all)); })},
      {"concat", build_fan([](const Tensors& all) { return Fetch(concat(all, 0)); })},
      {"stack", build_fan([](const Tensors& all) { return Fetch(stack(all)); })},
      {"group", build_fan([](const Tensors& all) { return Fetch(group(all)); })},
      {"no-ops", group_of_no_ops},
      {"waits", growing_waits},
      {"barrier", group_before_all},
      {"training", training},
      {"reads", reads_of_variables},
      {"changes", changes_of_one_variable},
      {"gradient-chain", gradient_of_chain},
      {"gradient-fan", gradient_of_fan},
      {"gradients", gradients_of_many},
      {"names", equal_names},
      {"summaries", summaries},
      {"collections", collected_losses},
      {"feeds", many_feeds},
  };
}

struct GrowthArguments {
  std::int64_t smallest = 1000, largest = 1000000, patience = 30;
  std::string shape = "all";
  bool json = false;
};

struct Growth {
  double record = 0, first = 0, again = 0;  // seconds
};

Growth measure(const GrowthShape& shape, std::int64_t size) {
  const auto now = [] { return std::chrono::steady_clock::now(); };
  const auto seconds = [](auto from, auto to) {
    return std::chrono::duration<double>(to - from).count();
  };
  const auto start = now();
  Graph graph;
  const auto as_default = graph.as_default();
  const Program program = shape.build(static_cast<int>(size));
  const auto recorded = now();
  Session session;
  if (!program.before.empty()) session.run(program.before);
  session.run(program.fetches, program.feeds);
  const auto planned = now();
  session.run(program.fetches, program.feeds);
  return {seconds(start, recorded), seconds(recorded, planned), seconds(planned, now())};
}

void bench_growth(const GrowthArguments& arguments) {
  fmt::print("{:<15} {:>9} {:>10} {:>14} {:>10}   us for each piece\n", "shape", "pieces", "record",
             "plan and run", "run again");
  for (const GrowthShape& shape : growth_shapes()) {
    if (arguments.shape != "all" && arguments.shape != shape.name) continue;
    for (std::int64_t size = arguments.smallest; size <= arguments.largest; size *= 10) {
      const Growth took = measure(shape, size);
      const double us = 1e6 / static_cast<double>(size);
      fmt::print("{:<15} {:>9} {:>10.2f} {:>14.2f} {:>10.3f}\n", shape.name, size, us * took.record,
                 us * took.first, us * took.again);
      if (arguments.json) {
        nlohmann::ordered_json line;
        line["shape"] = shape.name;
        line["pieces"] = size;
        line["record_seconds"] = took.record;
        line["first_run_seconds"] = took.first;
        line["next_run_seconds"] = took.again;
        fmt::print("{}\n", json_line(line));
      }
      std::fflush(stdout);
      const double all = took.record + took.first + took.again;
      if (all > static_cast<double>(arguments.patience)) break;
    }
  }
}

}  // namespace

void add_bench_growth(CLI::App& parent) {
  CLI::App& app =
      add_subcommand(parent, "growth", "recording and planning of ever larger graphs", kGrowthHelp);
  const auto arguments = std::make_shared<GrowthArguments>();
  add_integer(app, "--smallest", arguments->smallest, "pieces of the first graph", {.least = 2});
  add_integer(app, "--largest", arguments->largest,
              "no graph has more; each has ten times as many");
  add_integer(app, "--patience", arguments->patience, "seconds after which a shape stops growing");
  std::vector<std::string> names{"all"};
  for (const GrowthShape& shape : growth_shapes()) names.emplace_back(shape.name);
  add_choice(app, "--shape", arguments->shape,
             fmt::format("which graphs: {}", fmt::join(names, ", ")), names);
  add_json(app, arguments->json);
  set_action(app, [arguments] { bench_growth(*arguments); });
}

}  // namespace towerflow::tools
