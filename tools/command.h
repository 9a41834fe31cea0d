#pragma once

#include <stdexcept>

// Only command.cc and options.cc include CLI11, which adds ten seconds to the compile time of a
// file.
namespace CLI {
class App;
}

namespace towerflow::tools {

/// A subcommand of `towerflow` is a function `void add_NAME(CLI::App& app)` in this namespace, in
/// tools/NAME.cc, listed in tools/meson.build. With the functions of options.h, it adds the
/// subcommand, its options and its action, which prints results to stdout and throws errors (those
/// of the library or UsageError).

/// Incompatible options, found by an action. Ends the command like a mistyped option; `what()` is
/// one sentence.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A signal stopped the action cleanly; its results so far have been printed and saved.
struct Interrupted {
  int signal;
};

/// Exit codes of the command.
inline constexpr int kFailed = 1;    ///< the action failed: a file, a value, memory
inline constexpr int kUsage = 2;     ///< the command line is wrong; nothing was done
inline constexpr int kSignal = 128;  ///< plus the signal that stopped it, as in shells

/// Adds all subcommands, in the order of tools/meson.build.
void add_commands(CLI::App& app);

/// Runs the command line and returns the exit code. Results go to stdout; an error is one message
/// on stderr that begins with "towerflow: ". Never throws.
int run(int argc, char** argv);

/// Flushes stdout; throws errors::UnknownError on failure, such as a full disk.
void flush_output();

}  // namespace towerflow::tools
