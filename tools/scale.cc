// `towerflow scale`: how a model would train on more towers than this machine has.
#include "tools/scale.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "data/file.h"
#include "models/step_bench.h"
#include "tools/command.h"
#include "tools/json_line.h"
#include "tools/model_options.h"
#include "tools/options.h"
#include "tools/progress.h"
#include "tools/stream.h"

namespace towerflow::tools {
namespace {

/// Returns the help of `towerflow scale NAME`.
std::string scale_model_help(const models::Model& model) {
  return fmt::format(
      "Runs a few steps of one tower to measure when each gradient is ready, and simulates towers\n"
      "that exchange them, message by message, over links of the given speed. The table shows for\n"
      "how long the busiest link carries messages, what of that towers hide by computing, what "
      "the\n"
      "step gets longer by, and what it waits for. Figures of this machine can be replaced:\n"
      "--compute-factor by those of a faster processor, --step-ms and --megabytes by those of\n"
      "another step.\n"
      "\n"
      "Example: towerflow scale {} --towers 8..1024 --bandwidth 25 --latency 10 --svg scale.svg",
      model.name);
}

constexpr const char* kScaleHelp =
    "docs/scale.md says what is simulated and how it compares with published curves.\n"
    "\n"
    "Example: towerflow scale mnist --towers 8..1024 --bandwidth 100";

struct ScaleModelArguments {
  const models::Model* model;
  ScaleArguments scale;
  models::StepBenchOptions bench;
  std::optional<double> compute_factor, step_ms, megabytes;
};

/// Measures one tower on a simulated accelerator whose copies take no time.
report::StepProfile measured_profile(const models::Model& model, models::StepBenchOptions options) {
  options.num_towers = 1;
  options.devices.threads = 1;
  options.devices.simulated = {
      .count = 1, .bandwidth = 1e15, .latency = 0, .memory = std::size_t{1} << 36};
  models::StepBench bench(model, options);
  bench.window(2);
  std::vector<report::StepProfile> profiles;
  for (int i = 0; i < 5; ++i) {
    profiles.push_back(report::profile_of_trace(bench.trace(), model.name,
                                                static_cast<double>(options.batch_size)));
  }
  const auto middle = profiles.begin() + 2;
  std::nth_element(profiles.begin(), middle, profiles.end(),
                   [](const auto& a, const auto& b) { return a.compute < b.compute; });
  return *middle;
}

/// Replaces measured figures by those that were given; returns by what factor towers are faster
/// than measured.
double apply_figures(const ScaleModelArguments& arguments, report::StepProfile& profile) {
  const double factor = arguments.step_ms ? 1e3 * profile.compute / *arguments.step_ms
                                          : arguments.compute_factor.value_or(1);
  profile = profile.faster(factor);
  const double bytes = profile.bytes();
  for (report::ProfiledGradient& gradient : profile.gradients) {
    gradient.bytes *= arguments.megabytes ? *arguments.megabytes * 1e6 / bytes : 1;
  }
  return factor;
}

std::string machine_text(const report::Cluster& cluster) {
  return fmt::format(
      "{} towers a host; {:g} Gbit/s and {:g} us between hosts, {:g} Gbit/s and {:g} us inside; "
      "memory of a tower {:.3g} GB/s, of a host {:.3g} GB/s",
      cluster.towers_per_host, cluster.between.bytes_per_second * 8e-9,
      cluster.between.latency * 1e6, cluster.inside.bytes_per_second * 8e-9,
      cluster.inside.latency * 1e6, cluster.tower_memory * 1e-9, cluster.host_memory * 1e-9);
}

void scale_model(ScaleModelArguments arguments) {
  const std::vector<int> towers = arguments.scale.tower_counts();
  if (arguments.step_ms && arguments.compute_factor) {
    throw UsageError("--step-ms and --compute-factor both say how long a tower computes");
  }
  std::unique_ptr<AtomicFile>
      picture;  // opened first: nothing is simulated if it cannot be written
  if (!arguments.scale.picture.empty()) {
    picture = std::make_unique<AtomicFile>(arguments.scale.picture);
  }
  report::StepProfile profile = measured_profile(*arguments.model, arguments.bench);
  const double factor = apply_figures(arguments, profile);
  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  const report::Cluster cluster =
      arguments.scale.cluster(arguments.scale.tower_memory ? 1 : factor * stream_rate(1),
                              arguments.scale.host_memory ? 1 : stream_rate(cores));
  const auto strategies = arguments.scale.strategies();
  Progress progress("simulating");
  const auto total = static_cast<std::int64_t>(strategies.size() * towers.size());
  std::int64_t done = 0;
  std::vector<report::ScaleCurve> curves;
  for (const report::ScaleStrategy& strategy : strategies) {
    report::ScaleCurve curve{strategy.word, profile.examples, towers, {}};
    for (const int count : towers) {
      curve.results.push_back(
          report::simulate_step(profile, cluster, arguments.scale.options(strategy), count));
      progress.update(++done, total);
    }
    curves.push_back(std::move(curve));
  }
  progress.finish();
  fmt::print(
      "{}: towers of {} examples, {:.2f} ms of computation, {:.2f} MB of gradients\n{}\n\n{}",
      profile.name, profile.examples, 1e3 * profile.compute, profile.bytes() / 1e6,
      machine_text(cluster), report::curve_table(curves));
  if (picture) {
    picture->append(report::curve_picture(
        fmt::format("{}, {} examples a tower, {:g} Gbit/s between hosts of {} towers", profile.name,
                    profile.examples, cluster.between.bytes_per_second * 8e-9,
                    cluster.towers_per_host),
        curves));
    picture->commit();
  }
  if (!arguments.scale.json) return;
  nlohmann::ordered_json line;
  line["model"] = profile.name;
  line["batch_size"] = profile.examples;
  line["compute_seconds"] = profile.compute;
  line["gradient_bytes"] = profile.bytes();
  line["towers_per_host"] = cluster.towers_per_host;
  line["bandwidth"] = cluster.between.bytes_per_second;
  line["latency"] = cluster.between.latency;
  for (const report::ScaleCurve& curve : curves) line["curves"].push_back(json_of(curve));
  fmt::print("{}\n", json_line(line));
}

void add_scale_model(CLI::App& parent, const models::Model& model) {
  CLI::App& app = add_subcommand(parent, model.name, fmt::format("the {} step", model.title),
                                 scale_model_help(model));
  const auto arguments = std::make_shared<ScaleModelArguments>();
  arguments->model = &model;
  add_scale_options(app, arguments->scale);
  arguments->bench.batch_size = model.batch_size;
  add_integer(app, "--batch-size", arguments->bench.batch_size, "examples a step for each tower");
  add_number(app, "--compute-factor", arguments->compute_factor,
             "by how much a tower computes faster than one core of this machine", 1e-3, 1e6);
  add_number(app, "--step-ms", arguments->step_ms,
             "milliseconds that a tower computes in a step, instead of the measured", 1e-3, 1e6);
  add_number(app, "--megabytes", arguments->megabytes,
             "MB of gradients, instead of the model's, in the same proportions", 1e-3, 1e6);
  add_model_options(app, model, arguments->bench.values, /*all=*/true);
  set_action(app, [arguments] { scale_model(*arguments); });
}

}  // namespace

void add_scale(CLI::App& app) {
  CLI::App& scale =
      add_model_commands(app, "scale", "simulate a model on up to 1024 towers of many hosts",
                         kScaleHelp, add_scale_model);
  add_scale_published(scale);
}

}  // namespace towerflow::tools
