#pragma once

#include <CLI/CLI.hpp>

namespace towerflow::tools {

/// `towerflow bench update`.
void add_bench_update(CLI::App& parent);

}  // namespace towerflow::tools
