// `towerflow eval`: evaluates a trained model on the test set.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>

#include "models/run_record.h"
#include "models/training.h"
#include "tools/command.h"
#include "tools/data_folder.h"
#include "tools/json_line.h"
#include "tools/model_options.h"
#include "tools/options.h"
#include "tools/sample_dir.h"

namespace towerflow::tools {
namespace {

/// Returns the help of `towerflow eval NAME`.
std::string eval_help(const models::Model& model) {
  return fmt::format(
      "Restores the newest checkpoint of the training folder, runs all test {2} through the\n"
      "network and says {1} The data are\n"
      "those of the training unless --data-dir names others.\n"
      "\n"
      "Example: towerflow eval {0} --train-dir runs/{0} --data-dir data/{3}",
      model.name, model.evaluation, model.data->examples, model.data->name);
}

constexpr const char* kEvalHelp =
    "A model is evaluated on examples that its training never saw, from its checkpoint.\n"
    "\n"
    "Example: towerflow eval mnist --train-dir runs/mnist";

struct EvalArguments {
  const models::Model* model;
  models::EvalOptions options;
  bool json = false;
};

/// Returns the folder with the data that a model was trained on, if they were given to the training
/// and are still there; else an empty path.
std::string trained_data_dir(const models::Model& model, const std::string& train_dir) {
  namespace fs = std::filesystem;
  const auto record = models::read_run_record(model, train_dir);
  std::error_code error;
  if (!record || record->data_file.empty() || !fs::exists(record->data_file, error)) return "";
  const fs::path folder = fs::path(record->data_file).parent_path();
  const fs::path made = fs::path(train_dir) / "data";
  const bool is_default = model.data->make != nullptr
                              ? fs::equivalent(folder, made, error)
                              : fs::equivalent(folder, sample_dir(*model.data), error);
  return is_default ? "" : folder.string();
}

void eval_model(EvalArguments arguments) {
  if (arguments.options.data_dir.empty()) {
    arguments.options.data_dir = trained_data_dir(*arguments.model, arguments.options.train_dir);
    if (!arguments.options.data_dir.empty()) {
      fmt::print("Data: {}, as in the training; --data-dir names another folder.\n",
                 arguments.options.data_dir);
    }
  }
  const std::string& samples = arguments.options.samples;
  const auto ending = std::filesystem::path(arguments.model->samples_file).extension().string();
  if (!samples.empty() && !samples.ends_with(ending)) {
    throw UsageError(
        fmt::format("--samples: the file's name must end in {}, got '{}'", ending, samples));
  }
  const DataFolder folder(*arguments.model->data, arguments.options.data_dir,
                          arguments.options.train_dir);
  arguments.options.data_dir = folder.path();
  fmt::print("{}", folder.banner());
  const models::EvalResult result = models::evaluate(*arguments.model, arguments.options);
  fmt::print("{}: {}\n", result.checkpoint, result.score.text);
  if (!samples.empty()) fmt::print("{}: {}\n", samples, arguments.model->samples);
  if (arguments.json) {
    nlohmann::ordered_json line;
    line["model"] = arguments.model->name;
    line["checkpoint"] = result.checkpoint;
    line["steps"] = result.step;
    line["examples"] = result.examples;
    for (const auto& [name, value] : result.score.fields) {
      std::visit([&, &key = name](auto number) { line[key] = number; }, value);
    }
    fmt::print("{}\n", json_line(line));
  }
}

void add_eval_model(CLI::App& eval, const models::Model& model) {
  CLI::App& app = add_subcommand(
      eval, model.name, fmt::format("the newest checkpoint on the test {}", model.data->examples),
      eval_help(model));
  const auto arguments = std::make_shared<EvalArguments>();
  arguments->model = &model;
  add_text(app, "--train-dir", arguments->options.train_dir, "folder with the checkpoint",
           {.type = "DIR", .required = true});
  add_text(app, "--data-dir", arguments->options.data_dir,
           fmt::format("folder with {}; that of the training when not given", model.data->files),
           {.type = "DIR"});
  add_integer(app, "--batch-size", arguments->options.batch_size, "examples a run");
  if (!model.samples_file.empty()) {
    add_text(app, "--samples", arguments->options.samples,
             fmt::format("also write a file such as {}: {}", model.samples_file, model.samples),
             {.type = "FILE"});
  }
  add_trained_options(app, model, arguments->options.values);
  add_json(app, arguments->json);
  set_action(app, [arguments] { eval_model(*arguments); });
}

}  // namespace

void add_eval(CLI::App& app) {
  add_model_commands(app, "eval", "evaluate a trained model", kEvalHelp, add_eval_model);
}

}  // namespace towerflow::tools
