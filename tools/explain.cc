// `towerflow explain`: a training step in words and a picture, for whoever wants to know what
// towers do.
#include <fmt/format.h>

#include <memory>
#include <string>

#include "models/models.h"
#include "models/step_bench.h"
#include "tools/command.h"
#include "tools/model_options.h"
#include "tools/options.h"
#include "tools/step_report.h"

namespace towerflow::tools {
namespace {

/// The help of `towerflow explain NAME`.
std::string explain_help(const models::Model& model) {
  return fmt::format(
      "Builds the step, runs it a few times on data in memory, and shows who holds what, what\n"
      "crosses between memories, who waits for whom, and which operations became one.\n"
      "\n"
      "Example: towerflow explain {} --num-towers 2 --devices sim:2,bandwidth=8GB/s",
      model.name);
}

constexpr const char* kExplainHelp =
    "For whoever wants to see data-parallel training rather than believe it; no GPU and no data\n"
    "are needed: where no devices are given, each tower gets a simulated accelerator.\n"
    "\n"
    "Example: towerflow explain mnist --num-towers 2";

struct ExplainArguments {
  const models::Model* model;
  models::BenchOptions options;
  std::int64_t num_towers = 2;
  std::string trace;
  bool plan = false;
};

std::string lines_with(const std::string& report, const std::vector<std::string>& beginnings) {
  std::string text;
  for (std::size_t at = 0; at < report.size();) {
    const std::size_t end = std::min(report.find('\n', at), report.size());
    const std::string line = report.substr(at, end - at);
    for (const std::string& beginning : beginnings) {
      if (line.starts_with(beginning)) text += "  " + line + "\n";
    }
    at = end + 1;
  }
  return text;
}

void explain_model(ExplainArguments arguments) {
  auto& options = arguments.options;
  options.num_towers = static_cast<int>(arguments.num_towers);
  if (options.devices.cpus == 0 && options.devices.simulated.count == 0) {
    options.devices.simulated.count = options.num_towers;
  }
  models::StepBench bench(*arguments.model, options);
  bench.window(3);
  const RunMetadata step = bench.trace();
  Session& session = bench.session();
  const std::string report = session.plan_report(bench.fetches());
  fmt::print("One training step of {}, {} towers of {} examples{}\n", arguments.model->name,
             options.num_towers, options.batch_size,
             step.simulated ? ", on simulated accelerators" : "");
  fmt::print("\nWho holds what\n{}", holdings(session, bench.fetches()));
  fmt::print("\nWhat crosses in a step\n{}", crossings(session, bench.fetches()));
  fmt::print("\nWho works and who waits\n{}{}", step_timeline(step), first_departure(step));
  fmt::print("\nWhat the planner did\n{}",
             lines_with(report, {"prune:", "unread:", "fold:", "share:", "rewrite:", "copy:"}));
  if (!arguments.trace.empty()) write_trace(step, arguments.trace);
  if (arguments.plan) fmt::print("\nThe plan\n{}", report);
}

void add_explain_model(CLI::App& parent, const models::Model& model) {
  CLI::App& app = add_subcommand(parent, model.name, fmt::format("the {} step", model.title),
                                 explain_help(model));
  const auto arguments = std::make_shared<ExplainArguments>();
  arguments->model = &model;
  add_whole(app, "--num-towers", arguments->num_towers, "towers, each a replica of the network",
            {.least = 1, .most = 64});
  add_whole(app, "--batch-size", arguments->options.batch_size, "examples a step for each tower");
  add_devices(app, "--devices", arguments->options.devices.cpus,
              arguments->options.devices.simulated);
  add_model_options(app, model, arguments->options.values, /*all=*/false);
  add_text(app, "--trace", arguments->trace, "write the step for chrome://tracing to FILE",
           {.type = "FILE"});
  add_flag(app, "--plan", arguments->plan, "print every instruction as well");
  on_run(app, [arguments] { explain_model(*arguments); });
}

}  // namespace

void add_explain(CLI::App& app) {
  CLI::App& explain =
      add_subcommand(app, "explain", "show what a training step does, and where", kExplainHelp);
  require_subcommand(explain);
  for (const models::Model* model : models::all()) add_explain_model(explain, *model);
}

}  // namespace towerflow::tools
