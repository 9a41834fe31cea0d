// `towerflow mistakes`: runs the mistakes of models/mistakes/.
#include "models/mistakes/mistakes.h"

#include <fmt/format.h>

#include <memory>

#include "tools/command.h"
#include "tools/options.h"

namespace towerflow::tools {
namespace {

constexpr const char* kMistakesHelp =
    "Lists mistakes in programs with towers that were published or asked about. With a name, runs\n"
    "that program and prints what it says or does, and what to write instead.\n"
    "\n"
    "Example: towerflow mistakes loop_not_wrapped";

void print_mistake(const std::string& name) {
  const models::mistakes::Mistake& mistake = models::mistakes::find(name);
  fmt::print("{}\n  seen in: {}\n  program: {}, {}\n\n{}\n\nInstead: {}\n", mistake.title,
             mistake.seen_in, mistake.file, mistake.name, models::mistakes::outcome(mistake),
             mistake.instead);
}

}  // namespace

void add_mistakes(CLI::App& app) {
  CLI::App& command =
      add_subcommand(app, "mistakes", "run well-known mistakes with towers", kMistakesHelp);
  const auto name = std::make_shared<std::string>();
  add_text(command, "NAME", *name, "the mistake to run; lists all when not given");
  set_action(command, [name] {
    if (!name->empty()) return print_mistake(*name);
    for (const auto& mistake : models::mistakes::all()) {
      fmt::print("  {:<26} {}\n", mistake.name, mistake.title);
    }
  });
}

}  // namespace towerflow::tools
