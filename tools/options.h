#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "core/device/sim/sim_options.h"

namespace CLI {
class App;
}

namespace towerflow::tools {

/// What a subcommand is made of (command.h); options are bound to variables that outlive the
/// parsing of the command line.

/// Adds `towerflow ... NAME`; `help` stands below its options.
CLI::App& add_subcommand(CLI::App& parent, const std::string& name, const std::string& about,
                         const std::string& help);

/// Says that the command does nothing without one of its subcommands.
void require_subcommand(CLI::App& app);

/// What the command does once all its options are known to be good.
void set_action(CLI::App& app, std::function<void()> work);

/// Adds `--name`, which takes no value: it sets `value`, or calls `given`.
void add_flag(CLI::App& app, const std::string& name, bool& value, const std::string& about);
void add_flag(CLI::App& app, const std::string& name, std::function<void()> given,
              const std::string& about);

/// How a text is asked for.
struct Text {
  const char* type = "TEXT";  ///< what the help calls it: FILE, DIR
  bool required = false;
};

/// Adds a text, `--data-dir DIR`; without dashes in `name`, one that stands alone.
void add_text(CLI::App& app, const std::string& name, std::string& value, const std::string& about,
              Text kind = {});

/// Adds numbers between commas, each from `least` to `most`: `--counts 1,2,4`.
void add_list(CLI::App& app, const std::string& name, std::vector<int>& values,
              const std::string& about, int least, int most);
void add_list(CLI::App& app, const std::string& name, std::vector<double>& values,
              const std::string& about, double least, double most);

/// Numbers on the command line, checked before they are taken: `--num-towers 0` and
/// `--batch-size -1` end the command with the option's name, what it wants and what it got.

/// Which whole numbers an option takes.
struct Whole {
  std::int64_t least = 1;
  std::int64_t most = std::numeric_limits<std::int32_t>::max();
};

/// Adds a whole number: `--batch-size N`. The help shows the value that `value` has now.
void add_whole(CLI::App& app, const std::string& name, std::int64_t& value,
               const std::string& about, Whole range = {});
/// The same for an option whose absence means something of its own.
void add_whole(CLI::App& app, const std::string& name, std::optional<std::int64_t>& value,
               const std::string& about, Whole range = {});

/// Adds the devices to run on: `--devices cpu:2` makes `cpus` 2, `--devices sim:2,bandwidth=8GB/s`
/// asks for simulated accelerators; both stay as they are when not given.
void add_devices(CLI::App& app, const std::string& name, int& cpus, SimulatedDevices& simulated);

/// Adds a list of accelerators, `--gpus 0,2`: which of those there are become /gpu:0, /gpu:1.
void add_gpus(CLI::App& app, const std::string& name, std::string& visible);

/// Adds `--threads N`, compute threads; one a core when it is not given.
void add_threads(CLI::App& app, std::optional<std::int64_t>& threads);

/// Adds a finite number above 0: `--learning-rate R`.
void add_positive(CLI::App& app, const std::string& name, double& value, const std::string& about);

/// Adds a word out of `choices`; `about` says what each of them means.
void add_choice(CLI::App& app, const std::string& name, std::string& value,
                const std::string& about, std::vector<std::string> choices);

/// Adds `--json`: besides what people read, the result as one JSON object, the last line.
void add_json(CLI::App& app, bool& json);

}  // namespace towerflow::tools
