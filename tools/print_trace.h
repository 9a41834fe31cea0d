#pragma once

#include <fmt/format.h>

#include <string>

#include "report/step_report.h"

namespace towerflow::tools {

/// Writes a step in the trace format of chrome://tracing and Perfetto, and prints where.
inline void print_trace(const RunMetadata& step, const std::string& path) {
  report::write_trace(step, path);
  fmt::print("trace of one step: {} (open it with chrome://tracing or ui.perfetto.dev)\n", path);
}

}  // namespace towerflow::tools
