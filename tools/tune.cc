// `towerflow tune`: times the plans of cuDNN for the convolutions of a model.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <future>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/device/convolution_plans.h"
#include "models/step_bench.h"
#include "tools/command.h"
#include "tools/json_line.h"
#include "tools/model_options.h"
#include "tools/options.h"
#include "tools/text.h"

namespace towerflow::tools {
namespace {

/// Returns the help of `towerflow tune NAME`.
std::string tune_help(const models::Model& model) {
  return fmt::format(
      "Runs one training step on data in memory. Each convolution that the file does not have is\n"
      "timed with every plan that gives the same bits in each run and has the precision of its\n"
      "dtype, and the fastest is added to the file. A plan holds for one shape, one kind of card\n"
      "and one version of cuDNN, so tune with the batch size of the training.\n"
      "\n"
      "Example: towerflow tune {0} --devices cuda:1 --plans plans.json\n"
      "         towerflow train {0} --devices cuda:1,plans=plans.json",
      model.name);
}

constexpr const char* kTuneHelp =
    "cuDNN has many ways to compute a convolution. Without a file, a session uses the first that\n"
    "cuDNN proposes and that is deterministic, which is not always the fastest.\n"
    "\n"
    "Example: towerflow tune resnet20 --devices cuda:1 --batch-size 128";

struct TuneArguments {
  const models::Model* model;
  models::StepBenchOptions options;
  std::int64_t num_towers = 1;
  std::string plans = "cudnn-plans.json";
  bool json = false;
};

/// Prints the plans that a file gets.
class NewPlans {
 public:
  explicit NewPlans(std::string path) : path_(std::move(path)) { take(read()); }

  /// Prints those that came since the last call.
  void print() {
    for (ConvolutionPlan& plan : take(read())) {
      if (list_.empty()) fmt::print("{:>9}  {:>9}  {:>5}\n", "first, ms", "best, ms", "plans");
      fmt::print("{:9.4f}  {:9.4f}  {:5}  {}\n", plan.first_milliseconds, plan.milliseconds,
                 plan.timed, printable(plan.convolution, 200));
      flush_output();
      list_.push_back(std::move(plan));
    }
  }
  const std::vector<ConvolutionPlan>& list() const { return list_; }

 private:
  std::vector<ConvolutionPlan> read() const {
    std::error_code error;
    if (!std::filesystem::exists(path_, error)) return {};
    return read_convolution_plans(path_);
  }
  /// Returns those that were not there before.
  std::vector<ConvolutionPlan> take(std::vector<ConvolutionPlan> plans) {
    std::erase_if(plans, [&](const ConvolutionPlan& plan) {
      return !seen_.insert({plan.device, plan.convolution}).second;
    });
    return plans;
  }

  const std::string path_;
  std::set<std::pair<std::string, std::string>> seen_;
  std::vector<ConvolutionPlan> list_;
};

std::string json_text(const std::vector<ConvolutionPlan>& plans) {
  nlohmann::ordered_json line;
  line["plans"] = nlohmann::ordered_json::array();
  for (const ConvolutionPlan& plan : plans) {
    line["plans"].push_back({{"device", plan.device},
                             {"convolution", plan.convolution},
                             {"engine", plan.engine},
                             {"milliseconds", plan.milliseconds},
                             {"first_milliseconds", plan.first_milliseconds},
                             {"timed", plan.timed}});
  }
  return json_line(line);
}

void tune(TuneArguments arguments) {
  models::StepBenchOptions& options = arguments.options;
  CudaDevices& cuda = options.devices.cuda;
  if (options.devices.cpus > 0 || options.devices.simulated.count > 0) {
    throw UsageError("--devices: 'towerflow tune' times plans on GPUs, such as cuda:1");
  }
  if (!cuda.plans.empty()) throw UsageError("--devices: give the file as --plans FILE");
  if (cuda.count == 0) cuda.count = 1;
  cuda.plans = arguments.plans;
  cuda.tune = true;
  options.num_towers = static_cast<int>(arguments.num_towers);
  options.batch_size =
      models::tower_batch_size(*arguments.model, options.batch_size, options.num_towers);
  fmt::print("Timing the convolutions of {}, {} of {} examples\n", arguments.model->name,
             count_text(static_cast<std::uint64_t>(options.num_towers), "tower"),
             options.batch_size);
  flush_output();
  NewPlans plans(arguments.plans);
  std::future<void> step = std::async(
      std::launch::async, [&] { models::StepBench(*arguments.model, options).window(1); });
  constexpr std::chrono::milliseconds kBetween{100};
  while (step.wait_for(kBetween) != std::future_status::ready) plans.print();
  step.get();
  plans.print();
  if (plans.list().empty()) {
    fmt::print("Nothing was timed: '{}' has a plan for each convolution on a GPU\n",
               arguments.plans);
  } else {
    fmt::print("{} added to '{}', for {}\n", count_text(plans.list().size(), "plan"),
               arguments.plans, printable(plans.list().front().device, 200));
  }
  if (arguments.json) fmt::print("{}\n", json_text(plans.list()));
}

void add_tune_model(CLI::App& parent, const models::Model& model) {
  CLI::App& app = add_subcommand(
      parent, model.name, fmt::format("the convolutions of {}", model.title), tune_help(model));
  const auto arguments = std::make_shared<TuneArguments>();
  arguments->model = &model;
  add_integer(app, "--num-towers", arguments->num_towers, "towers, each a replica of the network",
              {.least = 1, .most = 64});
  add_batch_size(app, model, arguments->options.batch_size);
  add_devices(app, "--devices", arguments->options.devices.cpus,
              arguments->options.devices.simulated, arguments->options.devices.cuda);
  add_text(app, "--plans", arguments->plans, "the file to add plans to", {.type = "FILE"});
  add_model_options(app, model, arguments->options.values, /*all=*/false);
  add_json(app, arguments->json);
  set_action(app, [arguments] { tune(*arguments); });
}

}  // namespace

void add_tune(CLI::App& app) {
  add_model_commands(app, "tune", "time the convolutions of a model on a GPU", kTuneHelp,
                     add_tune_model);
}

}  // namespace towerflow::tools
