#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <iostream>
#include <limits>
#include <string>

#include "tools/command.h"

namespace towerflow::tools {

/// Lets another program decide when to run a window of work, so that several programs can take
/// turns. Prints "ready", then for each line of standard input, a number of `what`, the line
/// returned by `window`, until the input ends or a line is "quit". Throws UsageError for any other
/// line.
inline void serve(const char* what, const std::function<std::string(std::int64_t)>& window) {
  std::string line;
  fmt::print("ready\n");
  flush_output();
  while (std::getline(std::cin, line) && line != "quit") {
    std::int64_t count = 0;
    try {
      count = std::stoll(line);
    } catch (const std::exception&) {
      count = 0;
    }
    if (count < 1 || count > std::numeric_limits<std::int32_t>::max())
      throw UsageError(fmt::format("--serve takes numbers of {}, got '{}'", what, line));
    fmt::print("{}\n", window(count));
    flush_output();
  }
}

}  // namespace towerflow::tools
