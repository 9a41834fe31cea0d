#pragma once

#include <CLI/App.hpp>

namespace towerflow::tools {

/// Adds `towerflow bench scaling`: the MNIST step on 1, 2, 4, 8 simulated devices.
void add_bench_scaling(CLI::App& parent);

}  // namespace towerflow::tools
