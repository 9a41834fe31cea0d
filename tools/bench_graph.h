#pragma once

#include <CLI/CLI.hpp>

namespace towerflow::tools {

/// `towerflow bench graph`.
void add_bench_graph(CLI::App& parent);

}  // namespace towerflow::tools
