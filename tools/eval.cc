// `towerflow eval`: evaluates a trained model on the test set.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "models/training.h"
#include "tools/command.h"
#include "tools/json_line.h"
#include "tools/model_options.h"
#include "tools/options.h"
#include "tools/sample_dir.h"

namespace towerflow::tools {
namespace {

/// Returns the help of `towerflow eval NAME`.
std::string eval_help(const models::Model& model) {
  return fmt::format(
      "Restores the newest checkpoint of the training folder, runs all test digits through the\n"
      "network and says {1}\n"
      "\n"
      "Example: towerflow eval {0} --train-dir runs/{0} --data-dir data/mnist",
      model.name, model.evaluation);
}

constexpr const char* kEvalHelp =
    "A model is evaluated on digits that its training never saw, from its checkpoint.\n"
    "\n"
    "Example: towerflow eval mnist --train-dir runs/mnist";

struct EvalArguments {
  const models::Model* model;
  models::EvalOptions options{.data_dir = sample_dir()};
  bool json = false;
};

void eval_model(const EvalArguments& arguments) {
  const models::EvalResult result = models::evaluate(*arguments.model, arguments.options);
  fmt::print("{}: {}\n", result.checkpoint, result.score.text);
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
  CLI::App& app = add_subcommand(eval, model.name, "the newest checkpoint on the test digits",
                                 eval_help(model));
  const auto arguments = std::make_shared<EvalArguments>();
  arguments->model = &model;
  add_text(app, "--train-dir", arguments->options.train_dir, "folder with the checkpoint",
           {.type = "DIR", .required = true});
  add_text(app, "--data-dir", arguments->options.data_dir, "folder with test.tfrecords[.gz]",
           {.type = "DIR"});
  add_integer(app, "--batch-size", arguments->options.batch_size, "examples a run");
  add_trained_options(app, model, arguments->options.values);
  add_json(app, arguments->json);
  set_action(app, [arguments] { eval_model(*arguments); });
}

}  // namespace

void add_eval(CLI::App& app) {
  add_model_commands(app, "eval", "evaluate a trained model", kEvalHelp, add_eval_model);
}

}  // namespace towerflow::tools
