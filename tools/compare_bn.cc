// `towerflow compare-bn`: the ways of updating the moving averages of batch normalization on
// towers, side by side.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "models/batch_norm/compare.h"
#include "models/models.h"
#include "tools/command.h"
#include "tools/data_folder.h"
#include "tools/json_line.h"
#include "tools/options.h"
#include "tools/progress.h"

namespace towerflow::tools {
namespace {

namespace bn = models::batch_norm;

constexpr const char* kCompareBnHelp =
    "Trains the network of `towerflow train batch_norm` in every way of updating its moving\n"
    "averages: extended, after, replaced and first collect UPDATE_OPS as the text does, the "
    "others\n"
    "are policies of tf::combine_update_ops; synchronised normalizes by the moments of all "
    "towers.\n"
    "All start from the same values and get the same batches, and their steps are run in turns.\n"
    "\n"
    "  collected    update ops in the list, and how many of them are distinct\n"
    "  keeps, +     of what a moving mean consists after a step: itself, and each tower's mean\n"
    "  mean, var    of the layer's moving averages, averaged over its channels, at the end\n"
    "  off          their distance from the moments of the test digits, relative\n"
    "  drift        the distance of the towers' moments from each other's mean, relative\n"
    "  ms           median time of a step\n"
    "  right        share of the test digits recognised with the moving averages\n"
    "  by batch     and with the moments of each batch of 100 instead\n"
    "\n"
    "Example: towerflow compare-bn --num-towers 2 --by-ink";

struct CompareBnArguments {
  bn::CompareOptions options;
  std::int64_t num_towers = 2;
  bool json = false;
};

double share(std::int64_t right, std::int64_t examples) {
  return static_cast<double>(right) / static_cast<double>(examples);
}

nlohmann::ordered_json json_of_way(const bn::WayResult& result) {
  return {{"way", result.report.name},
          {"collected", result.report.collected},
          {"distinct", result.report.distinct},
          {"keeps", result.report.keeps},
          {"receives", result.report.receives},
          {"moving_mean", result.mean},
          {"moving_variance", result.variance},
          {"mean_off", result.mean_off},
          {"variance_off", result.variance_off},
          {"mean_drift", result.mean_drift},
          {"variance_drift", result.variance_drift},
          {"seconds", result.seconds},
          {"loss", result.loss},
          {"examples", result.examples},
          {"correct", result.right},
          {"correct_by_batch", result.right_by_batch}};
}

void compare_ways(CompareBnArguments arguments) {
  bn::CompareOptions& options = arguments.options;
  options.num_towers = static_cast<int>(arguments.num_towers);
  const DataFolder folder(*bn::kModel.data, options.data_dir, "");
  options.data_dir = folder.path();
  Progress progress("training");
  const std::vector<bn::WayResult> results = bn::compare_ways(
      options, [&](std::int64_t done, std::int64_t total) { progress.update(done, total); });
  progress.finish();
  fmt::print(
      "{} towers of {} examples, {} steps, digits dealt {}; moments of {}; {} test digits\n{}"
      "     mean      off      var      off    drift of mean, var       ms    right  by batch\n",
      options.num_towers, options.batch_size, options.steps, options.by_ink ? "by ink" : "in turn",
      options.layer, results.front().examples, bn::report_heading(options.num_towers));
  nlohmann::ordered_json ways = nlohmann::ordered_json::array();
  for (const bn::WayResult& result : results) {
    fmt::print(
        "{} {:>8.4f} {:>8.3f} {:>8.4f} {:>8.3f} {:>10.3f} {:>10.3f} {:>8.2f} {:>8.4f} "
        "{:>9.4f}\n",
        bn::report_row(result.report), result.mean, result.mean_off, result.variance,
        result.variance_off, result.mean_drift, result.variance_drift, result.seconds * 1e3,
        share(result.right, result.examples), share(result.right_by_batch, result.examples));
    ways.push_back(json_of_way(result));
  }
  if (!arguments.json) return;
  const nlohmann::ordered_json line{
      {"num_towers", options.num_towers}, {"batch_size", options.batch_size},
      {"steps", options.steps},           {"layer", options.layer},
      {"by_ink", options.by_ink},         {"ways", std::move(ways)}};
  fmt::print("{}\n", json_line(line));
}

}  // namespace

void add_compare_bn(CLI::App& parent) {
  CLI::App& app =
      add_subcommand(parent, "compare-bn", "compare ways of updating batch normalization on towers",
                     kCompareBnHelp);
  const auto arguments = std::make_shared<CompareBnArguments>();
  bn::CompareOptions& options = arguments->options;
  add_integer(app, "--num-towers", arguments->num_towers, "towers, each a replica of the network",
              {.least = 1, .most = 64});
  add_integer(app, "--batch-size", options.batch_size, "examples a step for each tower");
  add_integer(app, "--steps", options.steps, "steps trained in each way");
  add_choice(app, "--layer", options.layer, "the batch normalization whose moments are shown",
             {"conv1/bn", "conv2/bn"});
  add_flag(app, "--by-ink", options.by_ink,
           "deal the digits by their ink, the lightest to the first tower, instead of in turn");
  add_integer(app, "--seed", options.seed, "of the variables and of the order of the digits",
              {.least = 0});
  add_text(app, "--data-dir", options.data_dir, data_dir_help(*bn::kModel.data), {.type = "DIR"});
  add_devices(app, "--devices", options.devices.cpus, options.devices.simulated,
              options.devices.cuda);
  add_json(app, arguments->json);
  set_action(app, [arguments] { compare_ways(*arguments); });
}

}  // namespace towerflow::tools
