#pragma once

#include <CLI/CLI.hpp>

namespace towerflow::tools {

/// `towerflow bench save`.
void add_bench_save(CLI::App& parent);

}  // namespace towerflow::tools
