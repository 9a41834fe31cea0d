// `towerflow equivalence`: says which terms make several towers differ from one big batch.
#include "report/equivalence.h"

#include <fmt/format.h>

#include <memory>
#include <string>

#include "models/global_step.h"
#include "tools/command.h"
#include "tools/model_options.h"
#include "tools/options.h"

namespace towerflow::tools {
namespace {

/// Returns the help of `towerflow equivalence NAME`.
std::string equivalence_help(const models::Model& model) {
  return fmt::format(
      "Builds the step for one tower and for several, which divide the same examples, and "
      "compares\n"
      "the gradient of each term of each loss with the mean of those in the towers. For a term "
      "that\n"
      "differs, it says whether it is a sum, what depends on the division of the batch, such as\n"
      "batch normalization and random numbers, and how much is left without that. Then it "
      "compares\n"
      "what is applied, so that clipping and adding up show.\n"
      "\n"
      "Example: towerflow equivalence {} --num-towers 4",
      model.name);
}

constexpr const char* kEquivalenceHelp =
    "The examples are in memory unless --data-dir is given.\n"
    "\n"
    "Example: towerflow equivalence vaegan --num-towers 2";

struct EquivalenceArguments {
  const models::Model* model;
  models::GlobalStepOptions options;
  std::int64_t num_towers = 2;
  std::string data_dir;
};

void show_equivalence(EquivalenceArguments arguments) {
  const models::Model& model = *arguments.model;
  models::GlobalStepOptions& options = arguments.options;
  options.num_towers = 1;
  models::GlobalStep one(model, options);
  options.num_towers = static_cast<int>(arguments.num_towers);
  models::GlobalStep many(model, options);
  if (!arguments.data_dir.empty()) {
    const auto batches = models::training_batches(model, arguments.data_dir, options.batch_size, 1);
    one.set_batches(batches);
    many.set_batches(batches);
  }
  fmt::print("{}: one tower of {} examples against {}\n", model.name, options.batch_size,
             many.text());
  flush_output();
  fmt::print("{}", equivalence(one.equivalence_run(), many.equivalence_run()).text());
}

void add_equivalence_model(CLI::App& parent, const models::Model& model) {
  CLI::App& app = add_subcommand(parent, model.name, fmt::format("the step of {}", model.title),
                                 equivalence_help(model));
  const auto arguments = std::make_shared<EquivalenceArguments>();
  arguments->model = &model;
  arguments->options.batch_size = model.batch_size;
  add_integer(app, "--num-towers", arguments->num_towers, "towers to compare with one",
              {.least = 2, .most = 64});
  add_integer(app, "--batch-size", arguments->options.batch_size,
              "examples a step, which the towers divide, evenly or not");
  add_integer(app, "--seed", arguments->options.seed, "seed of both graphs", {.least = 0});
  add_text(app, "--data-dir", arguments->data_dir,
           fmt::format("folder with {}; data in memory when not given", model.data->files),
           {.type = "DIR"});
  add_model_options(app, model, arguments->options.values, /*all=*/true);
  set_action(app, [arguments] { show_equivalence(*arguments); });
}

}  // namespace

void add_equivalence(CLI::App& app) {
  add_model_commands(app, "equivalence", "say why several towers differ from one big batch",
                     kEquivalenceHelp, add_equivalence_model);
}

}  // namespace towerflow::tools
