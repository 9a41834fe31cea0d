// `towerflow eval`: how good a trained model is on the test set.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "models/mnist_train.h"
#include "tools/command.h"
#include "tools/json_line.h"
#include "tools/options.h"
#include "tools/sample_dir.h"

namespace towerflow::tools {
namespace {

namespace mnist = models::mnist;

constexpr const char* kEvalMnistHelp =
    "Restores the newest checkpoint of the training folder, runs all test digits through the\n"
    "network and says how many are recognised: precision @ 1 is the share whose highest score is\n"
    "the right digit.\n"
    "\n"
    "Example: towerflow eval mnist --train-dir runs/mnist --data-dir data/mnist";

constexpr const char* kEvalHelp =
    "A model is evaluated on digits that its training never saw, from its checkpoint.\n"
    "\n"
    "Example: towerflow eval mnist --train-dir runs/mnist";

struct EvalArguments {
  mnist::EvalOptions options{.data_dir = sample_dir()};
  bool relu_logits = false;
  bool json = false;
};

void eval_mnist(EvalArguments arguments) {
  if (arguments.relu_logits) arguments.options.relu_logits = true;
  const mnist::EvalResult result = mnist::evaluate(arguments.options);
  fmt::print("{}: {} of {} test digits right, precision @ 1 = {:.4f}\n", result.checkpoint,
             result.correct, result.examples, result.precision_at_1);
  if (arguments.json) {
    nlohmann::ordered_json line;
    line["model"] = "mnist";
    line["checkpoint"] = result.checkpoint;
    line["steps"] = result.step;
    line["examples"] = result.examples;
    line["correct"] = result.correct;
    line["precision_at_1"] = result.precision_at_1;
    fmt::print("{}\n", json_line(line));
  }
}

void add_eval_mnist(CLI::App& eval) {
  CLI::App& app =
      add_subcommand(eval, "mnist", "the newest checkpoint on the test digits", kEvalMnistHelp);
  const auto arguments = std::make_shared<EvalArguments>();
  add_text(app, "--train-dir", arguments->options.train_dir, "folder with the checkpoint",
           {.type = "DIR", .required = true});
  add_text(app, "--data-dir", arguments->options.data_dir, "folder with test.tfrecords[.gz]",
           {.type = "DIR"});
  add_whole(app, "--batch-size", arguments->options.batch_size, "examples a run");
  add_flag(app, "--relu-logits", arguments->relu_logits,
           "the checkpoint was trained so; known already where `run.json` lies beside it");
  add_json(app, arguments->json);
  on_run(app, [arguments] { eval_mnist(*arguments); });
}

}  // namespace

void add_eval(CLI::App& app) {
  CLI::App& eval = add_subcommand(app, "eval", "evaluate a trained model", kEvalHelp);
  require_subcommand(eval);
  add_eval_mnist(eval);
}

}  // namespace towerflow::tools
