// `towerflow compare`: trains a model in two ways and finds the first value that differs.
#include "report/compare.h"

#include <fmt/format.h>

#include <memory>
#include <string>

#include "models/global_step.h"
#include "tools/command.h"
#include "tools/model_options.h"
#include "tools/options.h"

namespace towerflow::tools {
namespace {

/// Returns the help of `towerflow compare NAME`.
std::string compare_help(const models::Model& model) {
  return fmt::format(
      "A and B are options of either side, in quotes: --num-towers N, --devices, --threads N,\n"
      "--skip PASS,.. (passes of the planner to do without: unread, fold, share, reuse, winograd,\n"
      "layers, updates, elementwise) and what `towerflow bench {0}` takes of the model's own.\n"
      "\n"
      "Both sides start from the same values and read the same examples, which their towers\n"
      "divide. The steps run as in a training; after each, the variables are compared bit for\n"
      "bit. Where they differ, the step is run again with its intermediate values, to find the\n"
      "first that differs.\n"
      "\n"
      "Example: towerflow compare {0} --a \"--num-towers 1\" --b \"--num-towers 2\"",
      model.name);
}

constexpr const char* kCompareHelp =
    "The examples are in memory unless --data-dir is given.\n"
    "\n"
    "Example: towerflow compare mnist --b \"--num-towers 1 --skip winograd\"";

struct CompareArguments {
  const models::Model* model;
  std::string a = "--num-towers 1", b = "--num-towers 2", data_dir;
  std::int64_t batch_size = 0, steps = 3, seed = 1;
};

models::GlobalStepOptions side(const CompareArguments& arguments, const std::string& name,
                               const std::string& text) {
  models::GlobalStepOptions options{.batch_size = arguments.batch_size, .seed = arguments.seed};
  std::int64_t num_towers = 1;
  std::optional<std::int64_t> threads;
  parse_options(name, text, [&](CLI::App& app) {
    add_integer(app, "--num-towers", num_towers, "", {.least = 1, .most = 1024});
    add_devices(app, "--devices", options.devices.cpus, options.devices.simulated,
                options.devices.cuda);
    add_threads(app, threads);
    add_skipped_passes(app, "--skip", options.passes);
    add_model_options(app, *arguments.model, options.values, /*all=*/true);
  });
  options.num_towers = static_cast<int>(num_towers);
  options.devices.threads = static_cast<int>(threads.value_or(0));
  return options;
}

void compare_model(const CompareArguments& arguments) {
  const models::Model& model = *arguments.model;
  const int steps = static_cast<int>(arguments.steps);
  models::GlobalStep a(model, side(arguments, "--a", arguments.a));
  models::GlobalStep b(model, side(arguments, "--b", arguments.b));
  if (!arguments.data_dir.empty()) {
    const auto batches =
        models::training_batches(model, arguments.data_dir, arguments.batch_size, steps);
    a.set_batches(batches);
    b.set_batches(batches);
  }
  fmt::print("A: {}, {}; {}\nB: {}, {}; {}\n\n", model.name, a.text(), arguments.a, model.name,
             b.text(), arguments.b);
  flush_output();
  fmt::print("{}", compare(a.run(), b.run(), {.steps = steps}).text());
}

void add_compare_model(CLI::App& parent, const models::Model& model) {
  CLI::App& app = add_subcommand(
      parent, model.name, fmt::format("two trainings of {}", model.title), compare_help(model));
  const auto arguments = std::make_shared<CompareArguments>();
  arguments->model = &model;
  arguments->batch_size = model.batch_size;
  add_text(app, "--a", arguments->a, "options of side A", {.type = "OPTIONS"});
  add_text(app, "--b", arguments->b, "options of side B", {.type = "OPTIONS"});
  add_integer(app, "--batch-size", arguments->batch_size,
              "examples a step, which the towers of a side divide");
  add_integer(app, "--steps", arguments->steps, "steps to run");
  add_integer(app, "--seed", arguments->seed, "seed of both graphs", {.least = 0});
  add_text(app, "--data-dir", arguments->data_dir,
           fmt::format("folder with {}; data in memory when not given", model.data->files),
           {.type = "DIR"});
  set_action(app, [arguments] { compare_model(*arguments); });
}

}  // namespace

void add_compare(CLI::App& app) {
  add_model_commands(app, "compare", "train in two ways and find the first value that differs",
                     kCompareHelp, add_compare_model);
}

}  // namespace towerflow::tools
