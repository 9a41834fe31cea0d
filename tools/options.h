#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "core/device/cuda_devices.h"
#include "core/device/sim/sim_options.h"
#include "core/graph/pass_options.h"

namespace CLI {
class App;
}

namespace towerflow::tools {

/// The functions that define subcommands (command.h). Options are bound to variables, which must
/// outlive the parsing of the command line.

/// Adds `towerflow ... NAME`; `help` is printed below its options.
CLI::App& add_subcommand(CLI::App& parent, const std::string& name, const std::string& about,
                         const std::string& help);

/// Makes the command require one of its subcommands.
void require_subcommand(CLI::App& app);

/// Sets the action of the command, which runs after all its options were parsed and checked.
void set_action(CLI::App& app, std::function<void()> work);
/// Sets the work of a command that has subcommands, for a command line without one.
void set_own_action(CLI::App& app, std::function<void()> work);

/// Adds a flag without a value, which sets `value` or calls `given`.
void add_flag(CLI::App& app, const std::string& name, bool& value, const std::string& about);
void add_flag(CLI::App& app, const std::string& name, std::function<void()> given,
              const std::string& about);

/// Parses options that are the value of another option: `--b "--num-towers 2"`. `add` defines them.
/// Throws UsageError (command.h), which names `option`.
void parse_options(const std::string& option, const std::string& text,
                   const std::function<void(CLI::App&)>& add);

/// The properties of a string option.
struct Text {
  const char* type = "TEXT";  ///< its placeholder in the help: FILE, DIR
  bool required = false;
};

/// Adds a string option, `--data-dir DIR`; a positional argument if `name` has no dashes.
void add_text(CLI::App& app, const std::string& name, std::string& value, const std::string& about,
              Text kind = {});

/// Adds a comma-separated list of numbers from `least` to `most`: `--counts 1,2,4`.
void add_list(CLI::App& app, const std::string& name, std::vector<int>& values,
              const std::string& about, int least, int most);
void add_list(CLI::App& app, const std::string& name, std::vector<double>& values,
              const std::string& about, double least, double most);

/// Numeric options are checked during parsing: `--num-towers 0` and `--batch-size -1` end the
/// command with a message that has the option's name, what it accepts and what it got.

/// The range of an integer option.
struct IntegerRange {
  std::int64_t least = 1;
  std::int64_t most = std::numeric_limits<std::int32_t>::max();
};

/// Adds an integer option: `--batch-size N`. The help shows the current value of `value` as the
/// default.
void add_integer(CLI::App& app, const std::string& name, std::int64_t& value,
                 const std::string& about, IntegerRange range = {});
/// The same for an option whose absence has a meaning.
void add_integer(CLI::App& app, const std::string& name, std::optional<std::int64_t>& value,
                 const std::string& about, IntegerRange range = {});
/// The same for an option whose value `given` takes, if there is one.
void add_integer(CLI::App& app, const std::string& name, std::function<void(std::int64_t)> given,
                 const std::string& about, IntegerRange range = {});

/// Adds the option for devices: `--devices cpu:2` sets `cpus` to 2, `--devices
/// sim:2,bandwidth=8GB/s` requests simulated accelerators, `--devices cuda:2` GPUs, `--devices
/// cuda-host:2` emulated ones; all stay unchanged if it is not given.
void add_devices(CLI::App& app, const std::string& name, int& cpus, SimulatedDevices& simulated,
                 CudaDevices& cuda);

/// Adds a list of accelerators, `--gpus 0,2`: those that become /gpu:0, /gpu:1.
void add_gpus(CLI::App& app, const std::string& name, std::string& visible);

/// Adds `--threads N`, the number of compute threads; one per core if not given.
void add_threads(CLI::App& app, std::optional<std::int64_t>& threads);

/// Adds a finite number above 0: `--learning-rate R`.
void add_positive(CLI::App& app, const std::string& name, double& value, const std::string& about);

/// Adds a number from `least` to `most`: `--jitter X`. The help shows the current value of `value`
/// as the default, if it has one.
void add_number(CLI::App& app, const std::string& name, std::optional<double>& value,
                const std::string& about, double least, double most);

/// Adds an option that takes one of `choices`; `about` must explain each of them.
void add_choice(CLI::App& app, const std::string& name, std::string& value,
                const std::string& about, std::vector<std::string> choices);
/// The same for an option whose value `given` takes, if there is one.
void add_choice(CLI::App& app, const std::string& name, std::function<void(std::string)> given,
                const std::string& about, std::vector<std::string> choices);

/// Adds a comma-separated list of passes that a session's plans do without, `--skip fold,layers`:
/// unread, fold, share, reuse, winograd, and the kinds of rewrites.
void add_skipped_passes(CLI::App& app, const std::string& name, PassOptions& passes);

/// Adds `--json`: prints the result also as one JSON object, on the last line.
void add_json(CLI::App& app, bool& json);

}  // namespace towerflow::tools
