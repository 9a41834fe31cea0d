// `towerflow bench --model NAME`: the benchmark of tf_cnn_benchmarks, with its lines.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/graph/nearest.h"
#include "models/cnn/cnn.h"
#include "models/models.h"
#include "models/update_bench.h"
#include "parallel/processes/group.h"
#include "report/step_rates.h"
#include "tools/bench.h"
#include "tools/command.h"
#include "tools/json_line.h"
#include "tools/model_options.h"
#include "tools/options.h"

namespace towerflow::tools {
namespace {

struct ImagesArguments {
  std::string model, update = "parameter_server", optimizer = "sgd", consistency = "strong";
  std::int64_t num_gpus = 1, num_batches = 100, warm_up = 10, display_every = 10;
  std::optional<std::int64_t> batch_size, threads;
  models::DeviceOptions devices;
  double time_limit = 120;
  bool staged_vars = false, efficiency = false, json = false;
};

/// The models with images: those of tf_cnn_benchmarks, and of the towers' programs that it has.
std::vector<const models::Model*> image_models() {
  std::vector<const models::Model*> list = models::cnn::all();
  for (const char* name : {"cifar10", "resnet20", "inception3"}) {
    list.push_back(&models::find(name));
  }
  return list;
}

const models::Model& image_model(const std::string& name) {
  std::vector<std::string> names;
  for (const models::Model* model : image_models()) {
    if (model->name == name) return *model;
    names.push_back(model->name);
  }
  throw UsageError(fmt::format("--model: there is no '{}', only {}", name, fmt::join(names, ", ")));
}

std::string devices_text(const ImagesArguments& arguments) {
  std::vector<std::string> names;
  for (std::int64_t i = 0; i < arguments.num_gpus; ++i) {
    names.push_back(arguments.devices.simulated.count > 0 ? fmt::format("/device:SIM:{}", i)
                                                          : fmt::format("/cpu:{}", i));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

void print_header(const ImagesArguments& arguments, const models::StepBenchOptions& options,
                  int processes) {
  const bool is_virtual = options.devices.simulated.count > 0;
  fmt::print(
      "Model:       {}\nDataset:     synthetic\nMode:        training\n"
      "Batch size:  {} global\n             {} per device\nNum batches: {}\n"
      "Devices:     {}{}\nVariables:   {}\n{}{}Times:       {}\n==========\n",
      arguments.model, options.batch_size * options.num_towers * processes, options.batch_size,
      arguments.num_batches, devices_text(arguments),
      processes > 1 ? fmt::format(", in each of {} processes", processes) : "", arguments.update,
      arguments.consistency == "relaxed" ? "Consistency: relaxed\n" : "",
      arguments.staged_vars ? "Staged vars: True\n" : "",
      is_virtual ? "virtual" : "of this machine's clock");
}

/// Checks the options that let a step use what the step before left.
void check_delays(const ImagesArguments& arguments) {
  const bool relaxed = arguments.consistency == "relaxed";
  if (!relaxed && !arguments.staged_vars) return;
  const char* option = relaxed ? "--variable-consistency relaxed" : "--staged-vars";
  if (arguments.update == "independent" || arguments.update == "async") {
    throw UsageError(fmt::format(
        "{} needs towers that exchange gradients in each step, not --variable-update {}", option,
        arguments.update));
  }
  if (arguments.staged_vars && !image_model(arguments.model).can_stage_variables) {
    std::vector<std::string> able;
    for (const models::Model* model : image_models()) {
      if (model->can_stage_variables) able.push_back(model->name);
    }
    throw UsageError(fmt::format("--staged-vars: '{}' cannot stage its variables, only {}",
                                 arguments.model, fmt::join(able, ", ")));
  }
}

void check(const ImagesArguments& arguments) {
  if (arguments.model.empty()) {
    std::vector<std::string> names;
    for (const models::Model* model : models::all()) names.push_back(model->name);
    throw UsageError(
        fmt::format("'towerflow bench' needs one of: {}; or --model NAME", fmt::join(names, ", ")));
  }
  const bool simulated = arguments.devices.simulated.count > 0;
  if (arguments.update == "replicated" && !simulated) {
    throw UsageError(
        "--variable-update replicated needs accelerators, such as --devices sim:2; on CPUs the "
        "towers share host memory");
  }
  if (simulated && arguments.devices.simulated.count < arguments.num_gpus) {
    throw UsageError(fmt::format("--num-gpus {} needs as many devices, got {}", arguments.num_gpus,
                                 arguments.devices.simulated.count));
  }
  if (arguments.update != "distributed_all_reduce" && arguments.update != "independent" &&
      parallel::started_by_mpirun()) {
    throw UsageError(
        "mpirun has started this process: --variable-update distributed_all_reduce or independent "
        "works in several");
  }
  if (arguments.optimizer != "sgd" && image_model(arguments.model).data != nullptr) {
    throw UsageError(fmt::format("--optimizer: '{}' has its own", arguments.model));
  }
  if (arguments.efficiency && arguments.update == "independent") {
    throw UsageError("--efficiency compares another variable update with independent");
  }
  check_delays(arguments);
}

/// The other processes, or none.
class Ranks {
 public:
  explicit Ranks(double time_limit) {
    if (!parallel::started_by_mpirun()) return;
    group_ = &parallel::process_group();
    group_->set_time_limit(time_limit);
  }
  int size() const { return group_ == nullptr ? 1 : group_->size(); }
  bool is_first() const { return group_ == nullptr || group_->rank() == 0; }
  /// Returns the sum of a number over the processes.
  double sum(double value) const {
    if (group_ == nullptr) return value;
    double sum = 0;
    for (const std::string& text : group_->all_gather(fmt::format("{:a}", value), "a rate")) {
      sum += std::stod(text);
    }
    return sum;
  }

 private:
  parallel::ProcessGroup* group_ = nullptr;
};

void bench_images(ImagesArguments arguments) {
  check(arguments);
  const models::Model& model = image_model(arguments.model);
  const models::VariableUpdate update = models::variable_update(arguments.update);
  const Ranks ranks(arguments.time_limit);
  models::StepBenchOptions options{.num_towers = static_cast<int>(arguments.num_gpus),
                                   .devices = arguments.devices};
  options.batch_size = arguments.batch_size.value_or(model.batch_size);
  options.devices.threads = static_cast<int>(arguments.threads.value_or(0));
  if (model.data == nullptr) options.values["optimizer"] = arguments.optimizer;
  // Processes that do not exchange gradients have rates of their own, which are added.
  const bool exchanges = update == models::VariableUpdate::distributed_all_reduce;
  const auto examples =
      static_cast<double>(options.batch_size * options.num_towers * (exchanges ? ranks.size() : 1));
  if (ranks.is_first()) {
    print_header(arguments, options, ranks.size());
    flush_output();
  }
  std::unique_ptr<models::UpdateBench> alone;
  if (arguments.efficiency) {
    alone = models::UpdateBench::make(models::VariableUpdate::independent, model, options);
  }
  options.deferred_gradients = arguments.consistency == "relaxed";
  options.staged_variables = arguments.staged_vars;
  const auto bench = models::UpdateBench::make(update, model, options);
  const auto warm_up = static_cast<int>(arguments.warm_up);
  if (ranks.is_first()) fmt::print("Running warm up\n");
  if (warm_up > 0) bench->steps(warm_up);
  if (alone && warm_up > 0) alone->steps(warm_up);
  if (ranks.is_first()) fmt::print("Done warm up\nStep\tImg/sec\ttotal_loss\n");
  std::vector<double> seconds, seconds_alone;
  double loss = 0;
  const auto show = [&] {
    const report::StepRates rates = report::step_rates(examples, seconds);
    if (!ranks.is_first()) return;
    fmt::print("{}\timages/sec: {:.1f} +/- {:.1f} (jitter = {:.1f})\t{:.3f}\n", seconds.size(),
               rates.mean, rates.uncertainty, rates.jitter, loss);
    flush_output();
  };
  const auto run = [&](std::int64_t count) {
    for (const models::UpdateStep& step : bench->steps(static_cast<int>(count))) {
      seconds.push_back(step.seconds);
      loss = step.loss;
    }
    if (!alone) return;
    for (const models::UpdateStep& step : alone->steps(static_cast<int>(count))) {
      seconds_alone.push_back(step.seconds);
    }
  };
  run(1);
  show();
  while (static_cast<std::int64_t>(seconds.size()) < arguments.num_batches) {
    const auto done = static_cast<std::int64_t>(seconds.size());
    run(std::min(arguments.display_every - done % arguments.display_every,
                 arguments.num_batches - done));
    if (static_cast<std::int64_t>(seconds.size()) % arguments.display_every == 0) show();
  }
  const report::StepRates rates = report::step_rates(examples, seconds);
  const double total = exchanges ? rates.mean : ranks.sum(rates.mean);
  std::optional<double> efficiency;
  if (alone) {
    // Each process that exchanges gradients has towers of its own to compare with.
    const double most = report::step_rates(examples, seconds_alone).mean;
    efficiency = rates.mean / (exchanges ? ranks.sum(most) / ranks.size() : most);
  }
  if (!ranks.is_first()) return;
  const std::string line(64, '-');
  fmt::print("{}\ntotal images/sec: {:.2f}\n", line, total);
  if (efficiency) fmt::print("scaling efficiency: {:.1f} % of independent\n", 100 * *efficiency);
  if (!bench->remark().empty()) fmt::print("{}\n", bench->remark());
  fmt::print("{}\n", line);
  if (!arguments.json) return;
  nlohmann::ordered_json json;
  json["model"] = arguments.model;
  json["variable_update"] = arguments.update;
  json["variable_consistency"] = arguments.consistency;
  json["staged_vars"] = arguments.staged_vars;
  json["num_gpus"] = arguments.num_gpus;
  json["processes"] = ranks.size();
  json["batch_size"] = options.batch_size;
  json["images_per_second"] = total;
  json["uncertainty"] = rates.uncertainty;
  json["jitter"] = rates.jitter;
  json["loss"] = loss;
  if (efficiency) json["efficiency"] = *efficiency;
  fmt::print("{}\n", json_line(json));
}

}  // namespace

void add_bench_images(CLI::App& bench) {
  const auto arguments = std::make_shared<ImagesArguments>();
  std::vector<std::string> names;
  for (const models::Model* model : image_models()) names.push_back(model->name);
  add_text(bench, "--model", arguments->model,
           fmt::format("instead of a subcommand, the benchmark of tf_cnn_benchmarks with its "
                       "lines: {}",
                       fmt::join(names, ", ")),
           {.type = "NAME"});
  add_choice(bench, "--variable-update", arguments->update,
             "independent: each tower has variables of its own, the most that is possible; "
             "parameter_server: variables live in host memory; replicated: each accelerator has "
             "copies; distributed_all_reduce: the processes of mpirun average gradients; async: "
             "towers update without waiting",
             models::variable_update_words());
  add_all_reduce(bench, arguments->devices);
  add_choice(bench, "--variable-consistency", arguments->consistency,
             "strong: a step applies its gradients; relaxed: it applies those of the step before, "
             "so that their exchange overlaps with the forward pass",
             {"strong", "relaxed"});
  add_flag(bench, "--staged-vars", arguments->staged_vars,
           "towers read variables as they were before the latest update");
  add_choice(bench, "--optimizer", arguments->optimizer,
             "sgd, momentum or rmsprop, for the networks of tf_cnn_benchmarks",
             {"sgd", "momentum", "rmsprop"});
  add_integer(bench, "--num-gpus,--num-towers", arguments->num_gpus,
              "towers of a process, each on a device", {.least = 1, .most = 1024});
  add_integer(bench, "--batch-size", arguments->batch_size,
              "images a step for each tower; the model's when not given");
  add_integer(bench, "--num-batches", arguments->num_batches, "timed steps");
  add_integer(bench, "--num-warmup-batches", arguments->warm_up, "steps before them", {.least = 0});
  add_integer(bench, "--display-every", arguments->display_every, "steps between two lines");
  add_devices(bench, "--devices", arguments->devices.cpus, arguments->devices.simulated,
              arguments->devices.cuda);
  add_threads(bench, arguments->threads);
  add_flag(bench, "--efficiency", arguments->efficiency,
           "time independent towers in turns, and print the share of their rate");
  add_positive(bench, "--time-limit", arguments->time_limit,
               "seconds that a process waits for the others");
  add_json(bench, arguments->json);
  set_own_action(bench, [arguments] { bench_images(*arguments); });
}

}  // namespace towerflow::tools
