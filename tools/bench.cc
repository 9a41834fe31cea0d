// `towerflow bench`: times training steps and parts of them.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "models/step_bench.h"
#include "report/quantile.h"
#include "report/step_report.h"
#include "tools/bench.h"
#include "tools/command.h"
#include "tools/json_line.h"
#include "tools/model_options.h"
#include "tools/options.h"
#include "tools/print_trace.h"
#include "tools/progress.h"
#include "tools/serve.h"
#include "tools/stream.h"

namespace towerflow::tools {
namespace {

/// Returns the help of `towerflow bench NAME`.
std::string bench_help(const models::Model& model) {
  return fmt::format(
      "Runs the step on data in memory, so that reading and shuffling do not count, in\n"
      "windows of some steps, and prints the median rate with the spread of the middle 80 % of "
      "the\n"
      "windows. --explain says where the time goes and what the fastest kernels would need, "
      "--trace\n"
      "draws one step for chrome://tracing or Perfetto. With --data-dir the step is the whole\n"
      "program's: it takes its batches from queues, which are filled while it runs.\n"
      "\n"
      "Example: towerflow bench {} --num-towers 2 --windows 5 --explain",
      model.name);
}

constexpr const char* kBenchHelp =
    "Each measures one thing, on this machine, without data or network; the same is measured in\n"
    "turns with TensorFlow by scripts/bench.\n"
    "\n"
    "Example: towerflow bench mnist --num-towers 2";

struct BenchArguments {
  const models::Model* model;
  models::StepBenchOptions options;
  std::int64_t num_towers = 1, windows = 20, steps = 10, warm_up = 10;
  std::optional<std::int64_t> threads;
  std::string trace;
  bool serve = false, plan = false, explain = false, json = false;
};

std::vector<RunMetadata> traces_of(models::StepBench& bench, std::int64_t steps) {
  std::vector<RunMetadata> traces;
  for (std::int64_t i = 0; i < steps; ++i) traces.push_back(bench.trace());
  return traces;
}

/// Times steps of one tower with both choices of kernels, on one thread and on all threads.
std::vector<report::IsolatedSteps> single_tower_steps(const models::Model& model,
                                                      models::StepBenchOptions options, int threads,
                                                      std::int64_t steps) {
  options.num_towers = 1;
  std::vector<report::IsolatedSteps> alone;
  for (const int on : {1, threads}) {
    if (on == 1 && threads == 1 && !alone.empty()) break;
    for (const bool winograd : {true, false}) {
      options.devices.threads = on;
      options.passes.choose_winograd = winograd;
      models::StepBench bench(model, options);
      alone.push_back({on, traces_of(bench, steps)});
    }
  }
  return alone;
}

/// Prints a table of a step's time, over a number of traced steps, and the floor.
void explain(models::StepBench& bench, const models::Model& model,
             const models::StepBenchOptions& options, std::int64_t steps) {
  const auto traces = traces_of(bench, steps * 5);
  fmt::print("{}", report::step_table(traces));
  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  const int threads = options.devices.threads > 0 ? options.devices.threads : cores;
  const double rate = stream_rate(threads);
  const double floor = report::step_floor(
      traces[0], single_tower_steps(model, options, threads, steps), threads, rate);
  fmt::print("{}", report::floor_line(traces, floor, rate));
}

void bench_model(BenchArguments arguments) {
  check_variable_update(arguments.options.devices);
  models::StepBenchOptions& options = arguments.options;
  options.num_towers = static_cast<int>(arguments.num_towers);
  options.batch_size =
      models::tower_batch_size(*arguments.model, options.batch_size, options.num_towers);
  options.devices.threads = static_cast<int>(arguments.threads.value_or(0));
  models::StepBench bench(*arguments.model, options);
  if (arguments.warm_up > 0) bench.window(static_cast<int>(arguments.warm_up));
  if (arguments.plan) fmt::print("{}", bench.session().plan_report(bench.fetches()));
  if (arguments.serve) {
    return serve("steps", [&](std::int64_t steps) {
      return fmt::format("{:.3f}", bench.window(static_cast<int>(steps)));
    });
  }

  Progress progress("timing");
  const BenchResult timed =
      bench.run({.windows = static_cast<int>(arguments.windows),
                 .steps = static_cast<int>(arguments.steps),
                 .warm_up = 0,
                 .on_window = [&](int done) { progress.update(done, arguments.windows); }});
  progress.finish();
  const auto examples = static_cast<double>(options.num_towers * options.batch_size);
  std::vector<double> rates;
  for (const double seconds : timed.seconds) rates.push_back(examples / seconds);
  const double median = report::quantile(rates, 0.5);
  if (!arguments.trace.empty()) print_trace(bench.trace(), arguments.trace);
  if (arguments.explain) explain(bench, *arguments.model, options, arguments.steps);
  fmt::print(
      "{}, {} towers of {} examples: {:.0f} examples/s ({:.0f} to {:.0f} in the middle "
      "80 % of {} windows of {} steps), {:.2f} ms a step\n",
      arguments.model->name, options.num_towers, options.batch_size, median,
      report::quantile(rates, 0.1), report::quantile(rates, 0.9), arguments.windows,
      arguments.steps, 1e3 * examples / median);
  if (arguments.json) {
    nlohmann::ordered_json line;
    line["model"] = arguments.model->name;
    line["towers"] = options.num_towers;
    line["batch_size"] = options.batch_size;
    line["steps"] = arguments.windows * arguments.steps;
    line["examples_per_second"] = median;
    line["p10"] = report::quantile(rates, 0.1);
    line["p90"] = report::quantile(rates, 0.9);
    line["loss"] = bench.loss();
    fmt::print("{}\n", json_line(line));
  }
}

void add_bench_model(CLI::App& parent, const models::Model& model) {
  CLI::App& app =
      add_subcommand(parent, model.name, fmt::format("the {} step on data in memory", model.title),
                     bench_help(model));
  const auto arguments = std::make_shared<BenchArguments>();
  arguments->model = &model;
  add_integer(app, "--num-towers", arguments->num_towers, "towers, each a replica of the network",
              {.least = 1, .most = 1024});
  add_batch_size(app, model, arguments->options.batch_size);
  add_text(app, "--data-dir", arguments->options.data_dir,
           fmt::format("folder with {}; data in memory when not given", model.data->files),
           {.type = "DIR"});
  add_threads(app, arguments->threads);
  add_devices(app, "--devices", arguments->options.devices.cpus,
              arguments->options.devices.simulated, arguments->options.devices.cuda);
  add_variable_update(app, arguments->options.devices);
  add_integer(app, "--windows", arguments->windows, "timed windows of --steps steps");
  add_integer(app, "--steps", arguments->steps, "steps a window");
  add_integer(app, "--warm-up", arguments->warm_up, "steps before the first window", {.least = 0});
  add_model_options(app, model, arguments->options.values, /*all=*/true);
  add_flag(app, "--plan", arguments->plan, "print what the planner makes of the step");
  add_flag(app, "--explain", arguments->explain,
           "print where the time of a step goes, kernel by kernel");
  add_text(app, "--trace", arguments->trace, "write one step for chrome://tracing to FILE",
           {.type = "FILE"});
  add_flag(app, "--serve", arguments->serve,
           "time windows when told to on standard input: a number of steps a line");
  add_json(app, arguments->json);
  set_action(app, [arguments] { bench_model(*arguments); });
}

}  // namespace

void add_bench(CLI::App& app) {
  CLI::App& bench =
      add_model_commands(app, "bench", "time the training step of a model, or a part of it",
                         kBenchHelp, add_bench_model);
  add_bench_images(bench);
  add_bench_graph(bench);
  add_bench_growth(bench);
  add_bench_records(bench);
  add_bench_run(bench);
  add_bench_save(bench);
  add_bench_scaling(bench);
  add_bench_update(bench);
}

}  // namespace towerflow::tools
