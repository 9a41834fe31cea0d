#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "core/device/sim/sim_options.h"

namespace towerflow::tools {

/// Numbers on the command line, checked before they are taken: `--num-towers 0` and
/// `--batch-size -1` end the command with the option's name, what it wants and what it got.

/// Which whole numbers an option takes.
struct Whole {
  std::int64_t least = 1;
  std::int64_t most = std::numeric_limits<std::int32_t>::max();
};

/// Adds a whole number: `--batch-size N`. The help shows the value that `value` has now.
CLI::Option* add_whole(CLI::App& app, const std::string& name, std::int64_t& value,
                       const std::string& about, Whole range = {});
/// The same for an option whose absence means something of its own.
CLI::Option* add_whole(CLI::App& app, const std::string& name, std::optional<std::int64_t>& value,
                       const std::string& about, Whole range = {});

/// Adds the devices to run on: `--devices cpu:2` makes `cpus` 2, `--devices sim:2,bandwidth=8GB/s`
/// asks for simulated accelerators; both stay as they are when not given.
CLI::Option* add_devices(CLI::App& app, const std::string& name, int& cpus,
                         SimulatedDevices& simulated);

/// Adds a list of accelerators, `--gpus 0,2`: which of those there are become /gpu:0, /gpu:1.
CLI::Option* add_gpus(CLI::App& app, const std::string& name, std::string& visible);

/// Adds a finite number above 0: `--learning-rate R`.
CLI::Option* add_positive(CLI::App& app, const std::string& name, double& value,
                          const std::string& about);

/// Adds a word out of `choices`; `about` says what each of them means.
CLI::Option* add_choice(CLI::App& app, const std::string& name, std::string& value,
                        const std::string& about, std::vector<std::string> choices);

/// Adds `--json`: besides what people read, the result as one JSON object, the last line.
CLI::Option* add_json(CLI::App& app, bool& json);

}  // namespace towerflow::tools
