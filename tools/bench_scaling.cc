// `towerflow bench scaling`: the speedup from more devices, for several bandwidths.
#include "tools/bench.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/graph/all_reduce_schedule.h"
#include "data/file.h"
#include "models/models.h"
#include "models/step_bench.h"
#include "models/update_bench.h"
#include "report/hidden_copies.h"
#include "report/scale/curve.h"
#include "tools/command.h"
#include "tools/json_line.h"
#include "tools/options.h"
#include "tools/progress.h"

namespace towerflow::tools {
namespace {

constexpr const char* kScalingHelp =
    "Towers on simulated accelerators, one each. Times are virtual: a kernel takes what it costs\n"
    "one core of this machine, whoever else wants that core, a copy what its size, the bandwidth\n"
    "and the latency say, and the host, which averages and updates, has one core. So the figures\n"
    "are those of that many devices, though all of them share this machine.\n"
    "\n"
    "Example: towerflow bench scaling --model cifar10 --strategy all --bandwidths 16";

struct ScalingArguments {
  std::string model = "mnist", strategy = "parameter_server", picture;
  std::vector<int> devices{1, 2, 4, 8};
  std::vector<double> bandwidths{1, 4, 16, 64};  // GB/s
  std::int64_t batch_size = 64, steps = 5;
  bool json = false;
};

constexpr const char* kAsync = "async";

/// Returns parameter_server, async and the algorithms of replicated towers.
std::vector<std::string> strategy_words() {
  std::vector<std::string> words{"parameter_server", kAsync};
  for (const auto& [algorithm, word] : kAllReduceNames) {
    if (has_schedule(algorithm)) words.emplace_back(word);
  }
  return words;
}

models::DeviceOptions sharing(const std::string& strategy) {
  models::DeviceOptions options;
  for (const auto& [algorithm, word] : kAllReduceNames) {
    if (strategy != word) continue;
    options.home = VariableHome::mirrored;
    options.all_reduce.algorithm = algorithm;
  }
  return options;
}

/// The virtual time of a step.
struct VirtualStep {
  double seconds = 0;
  double copies = 0;  ///< during which the busiest copy engine carries something
  std::optional<report::CopyTimes> times{};  ///< not of towers that have no step in common
};

VirtualStep virtual_step(const RunMetadata& step) {
  std::map<std::pair<std::string, Lane>, double> engines;
  for (const NodeStats& stats : step.nodes) {
    if (stats.kind != NodeStats::Kind::copy || !is_copy_lane(stats.lane)) continue;
    engines[{stats.device, stats.lane}] += stats.virtual_end - stats.virtual_begin;
  }
  VirtualStep made{step.virtual_seconds, 0, report::copy_times(step)};
  for (const auto& [engine, seconds] : engines) made.copies = std::max(made.copies, seconds);
  return made;
}

/// Returns the virtual time in which towers that do not wait for each other make an update each.
VirtualStep median_of_updates(const models::StepBenchOptions& options,
                              const ScalingArguments& arguments) {
  const auto bench = models::UpdateBench::make(models::VariableUpdate::async,
                                               models::find(arguments.model), options);
  bench->steps(2);
  std::vector<models::UpdateStep> steps = bench->steps(static_cast<int>(arguments.steps));
  const auto middle = steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2);
  std::nth_element(steps.begin(), middle, steps.end(),
                   [](const auto& a, const auto& b) { return a.seconds < b.seconds; });
  return {.seconds = middle->seconds};
}

/// Returns the step of median virtual time.
VirtualStep median_step(const std::string& strategy, int devices, double bandwidth,
                        const ScalingArguments& arguments) {
  models::StepBenchOptions options{
      .num_towers = devices, .batch_size = arguments.batch_size, .devices = sharing(strategy)};
  options.devices.simulated = {.count = devices, .bandwidth = bandwidth * 1e9};
  if (strategy == kAsync) return median_of_updates(options, arguments);
  models::StepBench bench(models::find(arguments.model), options);
  bench.window(2);
  std::vector<VirtualStep> steps;
  for (std::int64_t i = 0; i < arguments.steps; ++i) {
    steps.push_back(virtual_step(bench.trace()));
  }
  const auto middle = steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2);
  std::nth_element(steps.begin(), middle, steps.end(),
                   [](const auto& a, const auto& b) { return a.seconds < b.seconds; });
  return *middle;
}

void bench_scaling(const ScalingArguments& arguments) {
  std::unique_ptr<AtomicFile> picture;  // opened first: nothing is timed if it cannot be written
  if (!arguments.picture.empty()) picture = std::make_unique<AtomicFile>(arguments.picture);
  const std::vector<std::string> strategies =
      arguments.strategy == "all" ? strategy_words() : std::vector<std::string>{arguments.strategy};
  Progress progress("simulating");
  const auto cells = static_cast<std::int64_t>(strategies.size() * arguments.devices.size() *
                                               arguments.bandwidths.size());
  std::int64_t done = 0;
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  const auto examples = static_cast<double>(arguments.batch_size);
  std::string tables;
  std::vector<report::ScaleCurve> curves;
  for (const std::string& strategy : strategies) {
    tables += fmt::format("{}\n{:>8}", strategy, "devices");
    const std::size_t first = curves.size();
    for (const double bandwidth : arguments.bandwidths) {
      tables += fmt::format("  {:>36}", fmt::format("{:g} GB/s", bandwidth));
      curves.push_back(
          {fmt::format("{}, {:g} GB/s", strategy, bandwidth), examples, arguments.devices, {}});
    }
    tables += "\n";
    for (const int devices : arguments.devices) {
      tables += fmt::format("{:>8}", devices);
      for (std::size_t i = 0; i < arguments.bandwidths.size(); ++i) {
        const VirtualStep step = median_step(strategy, devices, arguments.bandwidths[i], arguments);
        report::ScaleCurve& curve = curves[first + i];
        const double alone = curve.results.empty() ? step.seconds : curve.results.front().alone;
        curve.results.push_back({.step = step.seconds, .alone = alone});
        const double rate = devices * examples / step.seconds;
        tables += fmt::format("  {:>7.2f} ms {:>6.0f}/s {:4.2f}x", step.seconds * 1e3, rate,
                              rate / curve.rate(0));
        nlohmann::ordered_json& entry =
            json.emplace_back(nlohmann::ordered_json{{"model", arguments.model},
                                                     {"strategy", strategy},
                                                     {"devices", devices},
                                                     {"bandwidth", arguments.bandwidths[i] * 1e9},
                                                     {"virtual_seconds", step.seconds},
                                                     {"examples_per_second", rate}});
        if (step.times) {
          tables += fmt::format(" {:>3.0f} % {:>3.0f} %", 100 * step.times->out.hidden_share(),
                                100 * step.times->in.hidden_share());
          entry["copy_seconds"] = step.copies;
          entry["hidden_share"] = step.times->total().hidden_share();
          entry["hidden_share_out"] = step.times->out.hidden_share();
          entry["hidden_share_in"] = step.times->in.hidden_share();
        } else {
          tables += fmt::format(" {:>5} {:>5}", "-", "-");
        }
        progress.update(++done, cells);
      }
      tables += "\n";
    }
  }
  progress.finish();
  const std::string title = fmt::format("{}, simulated accelerators, {} examples each",
                                        arguments.model, arguments.batch_size);
  fmt::print(
      "{}, virtual time of a step by bandwidth: examples a second, their multiple of {} device{}, "
      "and how much of the copies out of and into a device passes while it computes\n{}",
      title, arguments.devices.front(), arguments.devices.front() == 1 ? "" : "s", tables);
  if (picture) {
    picture->append(report::curve_picture(title, curves));
    picture->commit();
  }
  if (arguments.json) fmt::print("{}\n", json_line(json));
}

}  // namespace

void add_bench_scaling(CLI::App& parent) {
  CLI::App& app =
      add_subcommand(parent, "scaling", "the step on ever more simulated devices", kScalingHelp);
  const auto arguments = std::make_shared<ScalingArguments>();
  std::vector<std::string> names;
  for (const models::Model* model : models::all()) names.push_back(model->name);
  add_choice(app, "--model", arguments->model, fmt::format("{}", fmt::join(names, ", ")), names);
  std::vector<std::string> words = strategy_words();
  words.emplace_back("all");
  add_choice(
      app, "--strategy", arguments->strategy,
      fmt::format("how the towers share variables: {}; parameter_server: on the host, async: "
                  "there too, but no tower waits for another, the others: replicated with "
                  "that all-reduce",
                  fmt::join(words, ", ")),
      words);
  add_list(app, "--counts", arguments->devices, "numbers of devices", 1, 64);
  add_list(app, "--bandwidths", arguments->bandwidths, "GB/s of each copy engine", 1e-3, 1e6);
  add_integer(app, "--batch-size", arguments->batch_size, "examples a step for each tower");
  add_integer(app, "--steps", arguments->steps, "steps of which the median counts");
  add_text(app, "--svg", arguments->picture, "draw the curves to FILE", {.type = "FILE"});
  add_json(app, arguments->json);
  set_action(app, [arguments] { bench_scaling(*arguments); });
}

}  // namespace towerflow::tools
