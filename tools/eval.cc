// `towerflow eval`: evaluates a trained model on the test set.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "models/training.h"
#include "tools/command.h"
#include "tools/data_folder.h"
#include "tools/json_line.h"
#include "tools/model_options.h"
#include "tools/options.h"

namespace towerflow::tools {
namespace {

/// Returns the help of `towerflow eval NAME`.
std::string eval_help(const models::Model& model) {
  return fmt::format(
      "Restores the newest checkpoint of the training folder, runs all test {2} through the\n"
      "network and says {1}\n"
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
  std::string samples{};  ///< the file to write; none if empty
};

void eval_model(EvalArguments arguments) {
  const DataFolder folder(*arguments.model->data, arguments.options.data_dir,
                          arguments.options.train_dir);
  arguments.options.data_dir = folder.path();
  fmt::print("{}", folder.banner());
  const models::EvalResult result = models::evaluate(*arguments.model, arguments.options);
  fmt::print("{}: {}\n", result.checkpoint, result.score.text);
  if (!arguments.samples.empty()) {
    models::write_samples(*arguments.model, arguments.options, arguments.samples);
    fmt::print("{}: {}\n", arguments.samples, arguments.model->samples);
  }
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
  add_text(app, "--data-dir", arguments->options.data_dir, data_dir_help(*model.data),
           {.type = "DIR"});
  add_integer(app, "--batch-size", arguments->options.batch_size, "examples a run");
  if (!model.samples_file.empty()) {
    add_text(app, "--samples", arguments->samples,
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
