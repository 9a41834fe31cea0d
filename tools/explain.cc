// `towerflow explain`: shows a training step as text and a timeline, to explain what towers do.
#include <fmt/format.h>

#include <memory>
#include <string>

#include "models/step_bench.h"
#include "report/step_report.h"
#include "tools/command.h"
#include "tools/model_options.h"
#include "tools/options.h"
#include "tools/print_trace.h"

namespace towerflow::tools {
namespace {

/// Returns the help of `towerflow explain NAME`.
std::string explain_help(const models::Model& model) {
  return fmt::format(
      "Builds the step, runs it a few times on data in memory, and shows who trains and who holds\n"
      "what, what crosses between memories, who waits for whom, and which operations became one.\n"
      "\n"
      "Example: towerflow explain {} --num-towers 2 --devices sim:2,bandwidth=8GB/s",
      model.name);
}

constexpr const char* kExplainHelp =
    "Shows how data-parallel training works; no GPU and no data are needed: if no devices are\n"
    "given, each tower gets a simulated accelerator.\n"
    "\n"
    "Example: towerflow explain mnist --num-towers 2";

struct ExplainArguments {
  const models::Model* model;
  models::StepBenchOptions options;
  std::int64_t num_towers = 2;
  std::string trace;
  bool plan = false;
};

void explain_model(ExplainArguments arguments) {
  auto& options = arguments.options;
  options.num_towers = static_cast<int>(arguments.num_towers);
  options.batch_size =
      models::tower_batch_size(*arguments.model, options.batch_size, options.num_towers);
  if (options.devices.cpus == 0 && !models::has_accelerators(options.devices)) {
    options.devices.simulated.count = options.num_towers;
  }
  check_variable_update(options.devices);
  if (arguments.model->explanation != nullptr) {
    fmt::print("{}\n", arguments.model->explanation(options.num_towers, options.values));
  }
  models::StepBench bench(*arguments.model, options);
  bench.window(3);
  const RunMetadata step = bench.trace();
  fmt::print("One training step of {}, {} towers of {} examples{}\n\n", arguments.model->name,
             options.num_towers, options.batch_size,
             step.simulated ? ", on simulated accelerators" : "");
  fmt::print("{}\n", bench.who_trains().text);
  fmt::print("{}", report::explanation(bench.session(), bench.fetches(), {}, step));
  if (!arguments.trace.empty()) print_trace(step, arguments.trace);
  if (arguments.plan) {
    fmt::print("\nThe plan\n{}", bench.session().plan_report(bench.fetches()));
  }
}

void add_explain_model(CLI::App& parent, const models::Model& model) {
  CLI::App& app = add_subcommand(parent, model.name, fmt::format("the {} step", model.title),
                                 explain_help(model));
  const auto arguments = std::make_shared<ExplainArguments>();
  arguments->model = &model;
  add_integer(app, "--num-towers", arguments->num_towers, "towers, each a replica of the network",
              {.least = 1, .most = 64});
  add_batch_size(app, model, arguments->options.batch_size);
  add_devices(app, "--devices", arguments->options.devices.cpus,
              arguments->options.devices.simulated, arguments->options.devices.cuda);
  add_variable_update(app, arguments->options.devices);
  add_model_options(app, model, arguments->options.values, /*all=*/false);
  add_text(app, "--trace", arguments->trace, "write the step for chrome://tracing to FILE",
           {.type = "FILE"});
  add_flag(app, "--plan", arguments->plan, "print every instruction as well");
  set_action(app, [arguments] { explain_model(*arguments); });
}

}  // namespace

void add_explain(CLI::App& app) {
  add_model_commands(app, "explain", "show what a training step does, and where", kExplainHelp,
                     add_explain_model);
}

}  // namespace towerflow::tools
