#pragma once

#include <stdexcept>

// CLI11 is seen by command.cc and options.cc alone: each file that includes it takes ten seconds
// more to compile.
namespace CLI {
class App;
}

namespace towerflow::tools {

/// A subcommand of `towerflow` is a function `void add_NAME(CLI::App& app)` in this namespace, in
/// tools/NAME.cc, listed in tools/meson.build. With the functions of options.h it adds the
/// subcommand, its options, and the work: it prints results to stdout, and throws what went wrong
/// (the library's errors, or UsageError).

/// Options that do not fit together, found by a callback. Ends the command as a mistyped option
/// does; `what()` is one sentence.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A signal stopped the work in order; what it did has been reported and kept.
struct Interrupted {
  int signal;
};

/// Exit codes of the command.
inline constexpr int kFailed = 1;    ///< the work failed: a file, a value, memory
inline constexpr int kUsage = 2;     ///< the command line is wrong; nothing was done
inline constexpr int kSignal = 128;  ///< and the number of the signal that stopped it, as in shells

/// Adds every subcommand, in the order of tools/meson.build.
void add_commands(CLI::App& app);

/// Runs the command line and returns the exit code. Results go to stdout; an error is one message
/// on stderr that begins with "towerflow: ". Never throws.
int run(int argc, char** argv);

/// Writes what waits for stdout; throws errors::UnknownError where it cannot, as on a full disk.
void flush_output();

}  // namespace towerflow::tools
