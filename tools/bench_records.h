#pragma once

#include <CLI/CLI.hpp>

namespace towerflow::tools {

/// `towerflow bench records`.
void add_bench_records(CLI::App& parent);

}  // namespace towerflow::tools
