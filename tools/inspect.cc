// `towerflow inspect`: shows what a file contains; its kind is detected from its content.
#include "tools/inspect.h"

#include <fmt/format.h>

#include <memory>

#include "tools/command.h"
#include "tools/json_line.h"
#include "tools/options.h"

namespace towerflow::tools {
namespace {

constexpr const char* kInspectHelp =
    "FILE may be, whatever its name:\n"
    "  a TFRecord file, plain, gzip or zlib: its records, and the features of its Examples\n"
    "  an event file of summaries: its tags, with steps and the values of scalars\n"
    "  a checkpoint, by its prefix, .index or .data file: its tensors\n"
    "  a training folder, or the file `checkpoint` in it: its checkpoints, and the newest's "
    "tensors\n"
    "  an IDX file, plain or gzip: its shape and the range of its values\n"
    "Checksums are verified on the way. Damage is reported with its place, after the\n"
    "undamaged part before it, and ends the command with exit code 1.\n"
    "\n"
    "Example: towerflow inspect runs/mnist --values";

void inspect(const std::string& path, const InspectOptions& options, bool json) {
  const Findings findings = inspect_file(path, options);
  if (json) {
    fmt::print("{}\n", json_line(findings.json));
  }
  flush_output();
  if (findings.damage) {
    const errors::OpError& damage = *findings.damage;
    errors::raise(damage.code(), damage.message(), damage.detail());
  }
}

}  // namespace

void add_inspect(CLI::App& app) {
  struct InspectArguments {
    std::string file;
    InspectOptions options;
    bool json = false;
  };
  CLI::App& inspect_app = add_subcommand(
      app, "inspect", "say what is in a TFRecord, event or IDX file, checkpoint or training folder",
      kInspectHelp);
  const auto arguments = std::make_shared<InspectArguments>();
  add_text(inspect_app, "FILE", arguments->file, "what to look at", {.type = "", .required = true});
  add_flag(inspect_app, "--values", arguments->options.values,
           "read a checkpoint's values too: verify them, show their range, mean and "
           "standard deviation");
  add_flag(inspect_app, "--all", arguments->options.all,
           fmt::format("show every row, not only the first {}", kShownRows));
  add_json(inspect_app, arguments->json);
  set_action(inspect_app,
             [arguments] { inspect(arguments->file, arguments->options, arguments->json); });
}

}  // namespace towerflow::tools
