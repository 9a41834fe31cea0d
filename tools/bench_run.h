#pragma once

#include <CLI/App.hpp>

namespace towerflow::tools {

/// Adds `towerflow bench run`: what a run costs besides its kernels.
void add_bench_run(CLI::App& parent);

}  // namespace towerflow::tools
