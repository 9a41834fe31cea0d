// `towerflow bench scaling`: the speedup from more devices, for several bandwidths.
#include "tools/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "models/models.h"
#include "models/step_bench.h"
#include "report/quantile.h"
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
    "Example: towerflow bench scaling --bandwidths 1,16 --batch-size 64";

struct ScalingArguments {
  std::vector<int> devices{1, 2, 4, 8};
  std::vector<double> bandwidths{1, 4, 16, 64};  // GB/s
  std::int64_t batch_size = 64, steps = 5;
  bool json = false;
};

/// Returns the median virtual time of one step, in seconds.
double step_seconds(int devices, double bandwidth, const ScalingArguments& arguments) {
  models::StepBenchOptions options{.num_towers = devices, .batch_size = arguments.batch_size};
  options.devices.simulated = {.count = devices, .bandwidth = bandwidth * 1e9};
  models::StepBench bench(models::mnist::kModel, options);
  bench.window(2);
  std::vector<double> seconds;
  for (std::int64_t i = 0; i < arguments.steps; ++i) {
    seconds.push_back(bench.trace().virtual_seconds);
  }
  return report::quantile(std::move(seconds), 0.5);
}

void bench_scaling(const ScalingArguments& arguments) {
  Progress progress("simulating");
  const auto cells =
      static_cast<std::int64_t>(arguments.devices.size() * arguments.bandwidths.size());
  std::int64_t done = 0;
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  std::string table = fmt::format("{:>8}", "devices");
  for (const double bandwidth : arguments.bandwidths) {
    table += fmt::format("  {:>24}", fmt::format("{:g} GB/s", bandwidth));
  }
  table += "\n";
  std::vector<double> first;  // rates of the first row, per bandwidth
  for (const int devices : arguments.devices) {
    table += fmt::format("{:>8}", devices);
    for (std::size_t i = 0; i < arguments.bandwidths.size(); ++i) {
      const double seconds = step_seconds(devices, arguments.bandwidths[i], arguments);
      const double rate = static_cast<double>(devices * arguments.batch_size) / seconds;
      if (first.size() <= i) first.push_back(rate);
      table +=
          fmt::format("  {:>7.2f} ms {:>6.0f}/s {:4.2f}x", seconds * 1e3, rate, rate / first[i]);
      json.push_back({{"devices", devices},
                      {"bandwidth", arguments.bandwidths[i] * 1e9},
                      {"virtual_seconds", seconds},
                      {"examples_per_second", rate}});
      progress.update(++done, cells);
    }
    table += "\n";
  }
  progress.finish();
  fmt::print(
      "mnist, simulated accelerators, {} examples each, virtual time of a step by bandwidth: "
      "examples a second and their multiple of {} device{}\n{}",
      arguments.batch_size, arguments.devices.front(), arguments.devices.front() == 1 ? "" : "s",
      table);
  if (arguments.json) fmt::print("{}\n", json_line(json));
}

}  // namespace

void add_bench_scaling(CLI::App& parent) {
  CLI::App& app = add_subcommand(parent, "scaling", "the MNIST step on ever more simulated devices",
                                 kScalingHelp);
  const auto arguments = std::make_shared<ScalingArguments>();
  add_list(app, "--counts", arguments->devices, "numbers of devices", 1, 64);
  add_list(app, "--bandwidths", arguments->bandwidths, "GB/s of each copy engine", 1e-3, 1e6);
  add_integer(app, "--batch-size", arguments->batch_size, "examples a step for each tower");
  add_integer(app, "--steps", arguments->steps, "steps of which the median counts");
  add_json(app, arguments->json);
  set_action(app, [arguments] { bench_scaling(*arguments); });
}

}  // namespace towerflow::tools
