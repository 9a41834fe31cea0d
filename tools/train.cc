// `towerflow train`: trains a model on towers.
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "models/training.h"
#include "parallel/processes/group.h"
#include "tools/command.h"
#include "tools/data_folder.h"
#include "tools/json_line.h"
#include "tools/model_options.h"
#include "tools/options.h"
#include "tools/progress.h"
#include "train/interrupt.h"

namespace towerflow::tools {
namespace {

using train::Interrupt;

/// Returns the help of `towerflow train NAME`.
std::string train_help(const models::Model& model) {
  const std::string input =
      model.one_pipeline
          ? fmt::format("The towers take batches of the training {} from one queue",
                        model.data->examples)
          : fmt::format(
                "Every tower reads all training {} once an epoch, shuffled by a queue of "
                "its own",
                model.data->examples);
  return fmt::format(
      "{2}; gradients\n"
      "are averaged and applied on the CPU. Tower i asks for /gpu:i; without GPUs it runs on a "
      "logical\n"
      "CPU. {1}\n"
      "\n"
      "With --train-dir a run can be stopped by Ctrl-C, or killed; the same command continues it\n"
      "from the newest checkpoint, in the same order of examples, with the same result bit for "
      "bit.\n"
      "A second Ctrl-C ends it at once, without a checkpoint.\n"
      "\n"
      "Example: towerflow train {0} --num-towers 2 --train-dir runs/{0}",
      model.name, model.training, input);
}

constexpr const char* kTrainHelp =
    "A model is built once for each tower, all with the same variables: each tower has examples "
    "of\n"
    "its own, and a step updates the variables by the mean of their gradients.\n"
    "\n"
    "Example: towerflow train mnist --num-towers 2 --train-dir runs/mnist";

struct TrainArguments {
  const models::Model* model;
  std::string data_dir;
  std::string train_dir;
  std::int64_t num_towers = 1, num_epochs = 5, log_every = 100, reader_threads = 2;
  std::optional<std::int64_t> threads;
  std::optional<std::int64_t> epochs_given, max_steps, seed;
  std::string strategy = "host";
  double time_limit = 120;
  models::TrainOptions options;
  double learning_rate;
  bool json = false;
};

/// Returns "2026-01-31 12:34:56.789012", local time.
std::string local_time_text() {
  const auto time = std::chrono::system_clock::now();
  const auto micros =
      std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch()).count() %
      1000000;
  return fmt::format("{:%Y-%m-%d %H:%M:%S}.{:06}",
                     fmt::localtime(std::chrono::system_clock::to_time_t(time)), micros);
}

/// Returns the log line of the CIFAR-10 tutorial, and then the spread of the towers' losses and
/// what the model shows beside them.
std::string tutorial_line(const models::StepReport& report, const models::TrainOptions& options) {
  std::string line = fmt::format(
      "{}: step {}{}, loss = {:.2f} ({:.1f} examples/sec; {:.3f} sec/batch)", local_time_text(),
      report.step, report.stage.empty() ? "" : fmt::format(" ({})", report.stage), report.loss,
      static_cast<double>(models::examples_of_step(options)) / report.seconds,
      report.seconds / options.num_towers);
  line += models::towers_text(report, 2);
  for (const auto& [name, value] : report.parts) line += fmt::format("; {} {:.4g}", name, value);
  return line;
}

/// Returns "Batch: 64 digits a tower, 128 a step; an epoch is 15.62 steps.".
std::string batch_line(const models::Model& model, const models::TrainingPlan& plan) {
  return fmt::format("Batch: {} {} a tower, {} a step; {} are an epoch, {:.2f} steps{}.\n",
                     plan.batch.examples(), model.data->examples, plan.step_batch.examples(),
                     plan.epoch_examples, plan.epoch_steps,
                     model.one_pipeline || plan.batch.examples() == plan.step_batch.examples()
                         ? ""
                         : "; each tower reads them all");
}

void print_first_step(std::int64_t step) {
  fmt::print("Continuing from the checkpoint of step {}.\n", step);
  flush_output();
}

void print_left_over(const models::Model& model, const models::TrainResult& result) {
  for (std::size_t tower = 0; tower < result.left_over.size(); ++tower) {
    fmt::print("{}_{}: {} examples left over, too few for a batch.\n", model.tower, tower,
               result.left_over[tower]);
  }
}

nlohmann::ordered_json number_or_null(const std::optional<double>& value) {
  return value ? nlohmann::ordered_json(*value) : nullptr;
}

void print_result(const models::TrainResult& result, const TrainArguments& arguments) {
  const models::TrainOptions& options = arguments.options;
  if (result.stopped) {
    fmt::print("Stopped after {} steps{}.\n", result.steps,
               result.checkpoint.empty() ? "; nothing was saved, because --train-dir is not set"
                                         : "; the same command continues the training");
  } else if (options.max_steps) {
    fmt::print("Done training for {} steps.\n", result.steps);
  } else {
    fmt::print("Done training for {} epochs, {} steps.\n", options.num_epochs, result.steps);
    print_left_over(*arguments.model, result);
  }
  if (result.global_step != result.steps) {
    fmt::print("The graph counts several steps for each: its global_step is {}.\n",
               result.global_step);
  }
  if (!result.checkpoint.empty()) fmt::print("Checkpoint: {}\n", result.checkpoint);
  if (!arguments.json) return;
  nlohmann::ordered_json line;
  line["model"] = arguments.model->name;
  line["towers"] = options.num_towers;
  line["steps"] = result.steps;
  line["first_step"] = result.first_step;
  line["examples_per_second"] = number_or_null(result.examples_per_second);
  line["loss"] = number_or_null(result.loss);
  line["left_over"] = result.left_over;
  fmt::print("{}\n", json_line(line));
}

/// Says that a training will stop. A step of a large network takes seconds.
void announce_stop(int signal) {
  if (signal == SIGHUP) return;
  fmt::print(stderr, "{}towerflow: stopping after this step{}\n", isatty(STDERR_FILENO) ? "\n" : "",
             signal == SIGINT ? "; another Ctrl-C stops at once and saves nothing" : "");
}

/// Joins the other processes. Returns whether this one shows the training: process 0 does.
bool join_processes(const TrainArguments& arguments) {
  if (arguments.strategy == "host") {
    if (!parallel::started_by_mpirun()) return true;
    throw UsageError("mpirun has started this process: --strategy mpi trains with the others");
  }
  parallel::ProcessGroup& group = parallel::process_group();
  group.set_time_limit(arguments.time_limit);
  return group.rank() == 0;
}

void train_model(TrainArguments arguments) {
  const bool shows = join_processes(arguments);
  models::TrainOptions& options = arguments.options;
  options.across_processes = arguments.strategy == "mpi";
  if (arguments.epochs_given && arguments.max_steps) {
    throw UsageError("--num-epochs and --max-steps cannot be used together");
  }
  check_variable_update(options.devices);
  const DataFolder folder(*arguments.model->data, arguments.data_dir, arguments.train_dir);
  if (const auto staged = models::steps_of_stages(*arguments.model, options.values)) {
    arguments.max_steps = std::min(*staged, arguments.max_steps.value_or(*staged));
  }
  options.data_dir = folder.path();
  options.train_dir = arguments.train_dir;
  options.num_towers = static_cast<int>(arguments.num_towers);
  options.batch_size =
      models::tower_batch_size(*arguments.model, options.batch_size, options.num_towers);
  options.num_epochs = static_cast<int>(arguments.epochs_given.value_or(
      arguments.max_steps ? std::numeric_limits<std::int32_t>::max() : 5));
  options.max_steps = arguments.max_steps;
  options.seed = arguments.seed;
  options.learning_rate = arguments.learning_rate;
  options.reader_threads = static_cast<int>(arguments.reader_threads);
  options.devices.threads = static_cast<int>(arguments.threads.value_or(0));

  if (options.save_every > 0 && options.train_dir.empty()) {
    throw UsageError("--save-every needs --train-dir");
  }
  if (options.tb_logging && options.train_dir.empty()) {
    throw UsageError("--tb-logging needs --train-dir");
  }
  if (shows) {
    fmt::print("{}", folder.banner());
    options.on_built = [&](const models::TrainingPlan& plan) {
      // Shown with the first step's line, or with an error.
      fmt::print("{}{}", plan.who_trains.text, batch_line(*arguments.model, plan));
    };
  }
  const models::StepLog log =
      arguments.model->log != nullptr
          ? arguments.model->log(options)
          : [&](const models::StepReport& report) { return tutorial_line(report, options); };
  const Interrupt interrupt({.first = announce_stop, .last = [&] { folder.remove_temporary(); }});
  Progress progress("training");
  bool begun = false;
  const models::TrainResult result =
      models::train(*arguments.model, options, [&](const models::StepReport& report) {
        // A closed terminal cannot show a report.
        if (Interrupt::received() == SIGHUP) return false;
        if (!shows) return Interrupt::received() == 0;
        if (!std::exchange(begun, true) && report.step > 0) print_first_step(report.step);
        if (report.step % arguments.log_every == 0) {
          progress.finish();
          fmt::print("{}\n", log(report));
          flush_output();
        }
        progress.update(report.step + 1, report.steps);
        return Interrupt::received() == 0;
      });
  const bool closed = result.stopped && Interrupt::received() == SIGHUP;
  if (shows && !closed) {
    progress.finish();
    if (!begun && result.first_step > 0) print_first_step(result.first_step);
    print_result(result, arguments);
  }
  if (result.stopped) throw Interrupted{Interrupt::received()};
}

/// Trains; an error in one of several processes ends them all.
void train_or_end_all(const TrainArguments& arguments) {
  try {
    train_model(arguments);
  } catch (const Error& error) {
    if (arguments.strategy == "host" || parallel::process_group().size() == 1) throw;
    parallel::process_group().abort(error.what());
  }
}

/// Describes `--learning-rate` for the help.
std::string rate_text(const models::Model& model) {
  for (const models::StageInfo& stage : model.stages) {
    if (stage.rate_factor != model.stages.front().rate_factor) {
      return fmt::format("rate of the first {} % of the steps", model.stages.front().end_percent);
    }
  }
  return "rate of all optimizers";
}

void add_train_model(CLI::App& train, const models::Model& model) {
  CLI::App& app = add_subcommand(train, model.name, model.about, train_help(model));
  const auto arguments = std::make_shared<TrainArguments>();
  arguments->model = &model;
  arguments->learning_rate = model.learning_rate;
  models::TrainOptions& options = arguments->options;
  arguments->log_every = model.log_every;
  arguments->reader_threads = model.reader_threads;
  add_text(app, "--data-dir", arguments->data_dir, data_dir_help(*model.data), {.type = "DIR"});
  add_integer(app, "--num-towers,--num-gpus", arguments->num_towers,
              "towers, each a replica of the network", {.least = 1, .most = 1024});
  add_batch_size(app, model, options.batch_size);
  add_integer(app, "--num-epochs", arguments->epochs_given,
              fmt::format("how often {} the data; 5 when not given",
                          model.one_pipeline ? "the towers together read" : "each tower reads"));
  add_integer(app, "--max-steps", arguments->max_steps, "end after N steps instead");
  add_positive(app, "--learning-rate", arguments->learning_rate, rate_text(model));
  add_text(app, "--train-dir", arguments->train_dir,
           "folder for checkpoints, from which a stopped run continues; none when not given",
           {.type = "DIR"});
  add_integer(app, "--save-every", options.save_every,
              "steps between checkpoints, of which the newest 5 are kept; 0: only at the end",
              {.least = 0});
  add_integer(app, "--log-every", arguments->log_every, "steps between two lines about the loss");
  add_flag(app, "--restart", options.restart, "start over even if --train-dir has a checkpoint");
  add_flag(app, "--tb-logging", options.tb_logging,
           "write summaries to --train-dir every 100 steps, for TensorBoard");
  add_integer(app, "--seed", arguments->seed, "makes the run repeat bit for bit",
              {.least = 0, .most = std::numeric_limits<std::int32_t>::max()});
  add_model_options(app, model, options.values, /*all=*/false);
  add_integer(app, "--reader-threads", arguments->reader_threads,
              model.random_input
                  ? "input threads; with several, random distortions depend on timing"
                  : "input threads a tower; the order of examples does not depend on it",
              {.least = 1, .most = 64});
  add_devices(app, "--devices", options.devices.cpus, options.devices.simulated,
              options.devices.cuda);
  add_gpus(app, "--gpus", options.devices.visible);
  add_variable_update(app, options.devices);
  add_threads(app, arguments->threads);
  add_flag(app, "--log-device-placement", options.devices.log_device_placement,
           "say which device each node is placed on");
  add_json(app, arguments->json);
  add_choice(
      app, "--strategy", arguments->strategy,
      "host: the towers of this process; mpi: those of all processes that mpirun has started",
      {"host", "mpi"});
  add_positive(app, "--time-limit", arguments->time_limit,
               "seconds that a process waits for the others before the training fails");
  set_action(app, [arguments] { train_or_end_all(*arguments); });
}

}  // namespace

void add_train(CLI::App& app) {
  add_model_commands(app, "train", "train a model on towers", kTrainHelp, add_train_model);
}

}  // namespace towerflow::tools
