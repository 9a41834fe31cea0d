// `towerflow bench update`: averages the towers' gradients and updates the variables on the host,
// without the towers; compared with a stream that moves as many bytes.
#include "tools/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "report/quantile.h"
#include "tools/command.h"
#include "tools/json_line.h"
#include "tools/options.h"
#include "tools/serve.h"
#include "tools/stream.h"
#include "towerflow/towerflow.h"

namespace towerflow::tools {
namespace {

constexpr const char* kUpdateHelp =
    "Averages the gradients of N towers and updates the variables, as a step does when the towers\n"
    "are done, and beside it reads and writes as many bytes in a plain loop: memory sets the "
    "pace,\n"
    "so the share of that stream's rate says how good the update is. Rates are GB/s, 10^9 bytes.\n"
    "Memory: 4 bytes for each parameter, slot and tower's gradient, twice.\n"
    "\n"
    "Example: towerflow bench update --parameters 10000000 --optimizer nesterov --num-towers 2";

struct UpdateArguments {
  std::int64_t towers = 2, parameters = 123600000, variables = 16, windows = 10, steps = 3;
  std::string optimizer = "adam";
  std::optional<std::int64_t> threads;
  bool serve = false, plan = false, json = false;
};

struct UpdateKind {
  const char* name;
  int slots;
  std::unique_ptr<train::Optimizer> (*make)();
};
const UpdateKind kUpdateKinds[] = {
    {"sgd", 0,
     []() -> std::unique_ptr<train::Optimizer> {
       return std::make_unique<train::GradientDescentOptimizer>(1e-3);
     }},
    {"nesterov", 1,
     []() -> std::unique_ptr<train::Optimizer> {
       return std::make_unique<train::MomentumOptimizer>(
           1e-3, 0.9, train::MomentumOptions{.use_nesterov = true});
     }},
    {"adagrad", 1,
     []() -> std::unique_ptr<train::Optimizer> {
       return std::make_unique<train::AdagradOptimizer>(1e-3);
     }},
    {"adam", 2,
     []() -> std::unique_ptr<train::Optimizer> {
       return std::make_unique<train::AdamOptimizer>(1e-3);
     }},
    {"rmsprop", 2,
     []() -> std::unique_ptr<train::Optimizer> {
       return std::make_unique<train::RMSPropOptimizer>(1e-3);
     }},
};

const UpdateKind& optimizer_kind(const std::string& name) {
  return *std::find_if(std::begin(kUpdateKinds), std::end(kUpdateKinds),
                       [&](const UpdateKind& kind) { return name == kind.name; });
}

int threads_of(const UpdateArguments& arguments) {
  const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
  return static_cast<int>(arguments.threads.value_or(cores));
}

struct MeasuredUpdate {
  double seconds, stream_seconds;  ///< per step
};

/// Variables of equal size, and gradients of every tower that are stored in memory.
class UpdateBench {
 public:
  explicit UpdateBench(const UpdateArguments& arguments)
      : kind_(optimizer_kind(arguments.optimizer)),
        size_(std::max<std::int64_t>(1, arguments.parameters / arguments.variables)),
        elements_(size_ * arguments.variables),
        stream_(elements_, 1 + kind_.slots, static_cast<int>(arguments.towers),
                threads_of(arguments)) {
    const auto as_default = graph_.as_default();
    set_random_seed(1);
    optimizer_ = kind_.make();
    std::vector<std::vector<GradAndVar>> tower_grads(static_cast<std::size_t>(arguments.towers));
    for (std::int64_t i = 0; i < arguments.variables; ++i) {
      const Variable variable = make_parameter(fmt::format("variable_{}", i), true);
      for (std::size_t tower = 0; tower < tower_grads.size(); ++tower) {
        const Tensor gradient = make_parameter(fmt::format("gradient_{}_{}", tower, i), false);
        tower_grads[tower].push_back({Gradient(gradient), variable});
      }
    }
    update_ = {optimizer_->apply_gradients(average_gradients(tower_grads))};
    ConfigProto config;
    config.intra_op_parallelism_threads = threads_of(arguments);
    session_ = std::make_unique<Session>(graph_, config);
    // Initializes one variable at a time, so that no two initial values are in memory at once.
    for (const Variable& variable : global_variables()) session_->run(variable.initializer());
    step_ = session_->make_callable(update_);
  }

  MeasuredUpdate window(std::int64_t steps) {
    MeasuredUpdate measured{0, 0};
    for (std::int64_t i = 0; i < steps; ++i) {
      const auto start = std::chrono::steady_clock::now();
      step_({});
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
      measured.seconds += took.count() / static_cast<double>(steps);
      measured.stream_seconds += stream_.pass() / static_cast<double>(steps);
    }
    return measured;
  }

  std::int64_t bytes() const { return stream_.bytes(); }
  std::int64_t elements() const { return elements_; }
  std::string plan_report() { return session_->plan_report(update_); }

 private:
  Variable make_parameter(const std::string& name, bool trainable) {
    return get_variable(
        name, Shape{size_},
        {.initializer = random_uniform_initializer({.minval = -0.01, .maxval = 0.01}),
         .trainable = trainable});
  }

  const UpdateKind& kind_;
  std::int64_t size_, elements_;
  Stream stream_;
  Graph graph_;
  std::unique_ptr<train::Optimizer> optimizer_;
  std::vector<Fetch> update_;
  std::unique_ptr<Session> session_;
  Callable step_;
};

nlohmann::ordered_json line_of(const UpdateBench& bench, const MeasuredUpdate& measured) {
  const double gigabytes = 1e-9 * static_cast<double>(bench.bytes());
  nlohmann::ordered_json line;
  line["ms"] = 1e3 * measured.seconds;
  line["gb_per_second"] = gigabytes / measured.seconds;
  line["stream_gb_per_second"] = gigabytes / measured.stream_seconds;
  line["share_of_stream"] = measured.stream_seconds / measured.seconds;
  return line;
}

void bench_update(const UpdateArguments& arguments) {
  UpdateBench bench(arguments);
  bench.window(1);
  if (arguments.plan) fmt::print("{}", bench.plan_report());
  if (arguments.serve) {
    return serve("steps", [&](std::int64_t steps) {
      return json_line(line_of(bench, bench.window(steps)));
    });
  }
  std::vector<MeasuredUpdate> windows;
  for (std::int64_t i = 0; i < arguments.windows; ++i) {
    windows.push_back(bench.window(arguments.steps));
  }
  const auto median = [&](auto of) {
    std::vector<double> values;
    for (const MeasuredUpdate& window : windows) values.push_back(of(window));
    return report::quantile(std::move(values), 0.5);
  };
  const MeasuredUpdate typical{median([](const MeasuredUpdate& m) { return m.seconds; }),
                               median([](const MeasuredUpdate& m) { return m.stream_seconds; })};
  auto line = line_of(bench, typical);
  line["share_of_stream"] =
      median([](const MeasuredUpdate& m) { return m.stream_seconds / m.seconds; });
  fmt::print(
      "mean of {} towers and {}, {} parameters in {} variables: {:.1f} ms, {:.1f} GB/s; a stream "
      "of the same bytes {:.1f} GB/s, of which that is {:.0f} %\n",
      arguments.towers, arguments.optimizer, bench.elements(), arguments.variables,
      line["ms"].get<double>(), line["gb_per_second"].get<double>(),
      line["stream_gb_per_second"].get<double>(), 100 * line["share_of_stream"].get<double>());
  if (arguments.json) fmt::print("{}\n", json_line(line));
}

}  // namespace

void add_bench_update(CLI::App& parent) {
  CLI::App& app = add_subcommand(
      parent, "update", "averaging towers' gradients and updating the variables, on the host",
      kUpdateHelp);
  const auto arguments = std::make_shared<UpdateArguments>();
  add_integer(app, "--num-towers", arguments->towers, "towers", {.least = 1, .most = 4});
  add_integer(app, "--parameters", arguments->parameters, "parameters of the model");
  add_integer(app, "--variables", arguments->variables,
              "number of variables, all of the same size");
  std::vector<std::string> names;
  for (const UpdateKind& kind : kUpdateKinds) names.emplace_back(kind.name);
  add_choice(app, "--optimizer", arguments->optimizer,
             fmt::format("whose update: {}", fmt::join(names, ", ")), names);
  add_threads(app, arguments->threads);
  add_integer(app, "--windows", arguments->windows, "timed windows");
  add_integer(app, "--steps", arguments->steps, "steps a window");
  add_flag(app, "--plan", arguments->plan, "print what the planner makes of the step");
  add_flag(app, "--serve", arguments->serve,
           "time a window when told to on standard input: a number of steps a line");
  add_json(app, arguments->json);
  set_action(app, [arguments] { bench_update(*arguments); });
}

}  // namespace towerflow::tools
