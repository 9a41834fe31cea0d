#include "tools/command.h"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/error.h"
#include "core/graph/nearest.h"
#include "tools/machine.h"

namespace towerflow::tools {
namespace {

constexpr const char* kAbout =
    "Trains neural networks on towers: one graph, replicated on several devices that share their "
    "variables.\nOn a machine without a GPU a tower is a logical CPU.";
constexpr const char* kFooter =
    "What a command takes: towerflow COMMAND --help\n"
    "Exit code: 0 done, 1 it failed, 2 the command line is wrong; stopped by a signal: 130 by "
    "Ctrl-C,\n143 by a request to terminate, 129 by a terminal that was closed.\n"
    "TOWERFLOW_EXPLAIN=1 in the environment prints what the planner makes of each run.";

/// Prints an error message without allocating memory. Ignores a failed write: the exit code reports
/// the error as well.
void print_error(std::string_view message) {
  std::fflush(stdout);  // what was printed before comes before
  std::fprintf(stderr, "towerflow: %.*s\n", static_cast<int>(message.size()), message.data());
}

/// Returns the full name of a subcommand, "towerflow convert mnist", for hints.
std::string full_name(const CLI::App* app) {
  return app->get_parent() == nullptr ? app->get_name()
                                      : full_name(app->get_parent()) + " " + app->get_name();
}

/// Returns the innermost subcommand on the command line so far.
const CLI::App* innermost_subcommand(const CLI::App* app) {
  const std::vector<CLI::App*> used = app->get_subcommands();
  return used.empty() ? app : innermost_subcommand(used.front());
}

std::vector<const CLI::App*> all_subcommands(const CLI::App* app) {
  return app->get_subcommands([](const CLI::App*) { return true; });
}

std::vector<std::string> names_of(const CLI::App* app) {
  std::vector<std::string> names;
  for (const CLI::App* sub : all_subcommands(app)) names.push_back(sub->get_name());
  return names;
}

std::string see_help(const CLI::App* app) {
  return fmt::format(" (see {} --help)", full_name(app));
}

/// Returns "'towerflow train' does not take '--foo'; nearest existing: ...".
std::string unknown_argument_text(const CLI::App* app, const std::string& what,
                                  const std::vector<std::string>& known) {
  const std::string hint = nearest_hint(what, known);
  return fmt::format("'{}' does not take '{}'{}{}", full_name(app), what, hint.empty() ? "" : "; ",
                     hint);
}

std::vector<std::string> options_of(const CLI::App* app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app->get_options()) names.push_back(option->get_name());
  return names;
}

/// Describes a mistake in the subcommands or in the options between them; "" if there is none.
/// CLI11 would report all of these as a missing subcommand.
std::string subcommand_mistake(const CLI::App* app, int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::vector<const CLI::App*> subcommands = all_subcommands(app);
    if (subcommands.empty()) return "";
    const std::string word = argv[i];
    if (word.starts_with('-')) {
      const std::string option = word.substr(0, word.find('='));
      const CLI::Option* known = app->get_option_no_throw(option);
      if (known != nullptr) {
        const bool value_follows =
            option.size() == word.size() && known->get_items_expected_min() > 0;
        i += value_follows ? 1 : 0;
        continue;
      }
      return unknown_argument_text(app, option, options_of(app)) + see_help(app);
    }
    const auto next = std::find_if(subcommands.begin(), subcommands.end(),
                                   [&](const CLI::App* sub) { return sub->get_name() == word; });
    if (next == subcommands.end()) {
      const std::string hint = nearest_hint(word, names_of(app));
      return fmt::format(
          "'{}' has no subcommand '{}'; {}{}", full_name(app), word,
          hint.empty() ? fmt::format("known: {}", fmt::join(names_of(app), ", ")) : hint,
          see_help(app));
    }
    app = *next;
  }
  return "";
}

/// Rewrites CLI11's message about a mistake in the command line in the style of this command.
std::string usage_text(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App* where = innermost_subcommand(&app);
  std::string text = error.what();
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr && !names_of(where).empty()) {
    text = fmt::format("'{}' needs one of: {}", full_name(where), fmt::join(names_of(where), ", "));
  } else if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
    const std::vector<std::string> extras = app.remaining(true);
    if (!extras.empty()) text = unknown_argument_text(where, extras[0], options_of(where));
  } else if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    const std::string option = text.substr(0, text.find(':'));
    text = text.ends_with("missing") ? option + " needs a value"
                                     : option + " was given more than once";
  }
  return text + see_help(where);
}

/// Returns the message of an error. If a node of the graph failed, it contains the node's name and
/// place.
std::string failure_text(const Error& error) {
  const ErrorDetail& detail = error.detail();
  if (!detail.node.empty()) return error.what();
  return detail.hint.empty() ? error.message()
                             : fmt::format("{} ({})", error.message(), detail.hint);
}

void print_failure(const Error& error) {
  try {
    print_error(failure_text(error));
  } catch (const std::bad_alloc&) {
    print_error(error.what());
  }
}

int run_checked(CLI::App& app, int argc, char** argv) {
  const std::string mistake = subcommand_mistake(&app, argc, argv);
  if (!mistake.empty()) {
    print_error(mistake);
    return kUsage;
  }
  try {
    app.parse(argc, argv);
    flush_output();
    return 0;
  } catch (const CLI::Success& asked) {
    app.exit(asked);  // prints help or version
    flush_output();
    return 0;
  } catch (const CLI::ParseError& error) {
    print_error(usage_text(app, error));
  } catch (const Interrupted& interrupted) {
    // A closed terminal cannot show any output.
    if (interrupted.signal != SIGHUP) flush_output();
    return kSignal + interrupted.signal;
  } catch (const UsageError& error) {
    print_error(error.what() + see_help(innermost_subcommand(&app)));
  }
  return kUsage;
}

}  // namespace

void flush_output() {
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    throw errors::UnknownError(
        fmt::format("cannot write to the standard output: {}", std::strerror(errno)));
  }
}

int run(int argc, char** argv) {
  // Makes exceeding the file size limit an error like a full disk, instead of a fatal signal.
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    CLI::App app(kAbout, "towerflow");
    app.set_version_flag("--version", version_text,
                         "print the version, the compiler, the libraries and the system");
    app.require_subcommand(1);
    app.footer(kFooter);
    add_commands(app);
    return run_checked(app, argc, argv);
  } catch (const Error& error) {
    print_failure(error);
  } catch (const std::bad_alloc&) {
    print_error("out of memory");
  } catch (const std::exception& error) {
    print_error(error.what());
  }
  return kFailed;
}

}  // namespace towerflow::tools
