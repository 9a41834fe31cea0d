#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace towerflow::tools {

/// The properties of the machine and the process that matter for training.
struct Machine {
  int cores = 1;                  ///< available to this process
  std::uint64_t memory = 0;       ///< total bytes
  std::uint64_t memory_free = 0;  ///< bytes available to a new program; 0 if unknown
  /// Bytes that the process may lock in memory (`ulimit -l`); absent if unlimited.
  std::optional<std::uint64_t> lock_limit{};
  std::uint64_t locked = 0;     ///< bytes locked now (VmLck)
  std::string instruction_set;  ///< used by the library's own loops: "x86-64-v3"
  std::string onednn;           ///< library version: "2.6.3"
};

Machine this_machine();

/// Returns the output of `towerflow --version`: the version, then the compiler, libraries and
/// system.
std::string version_text();

}  // namespace towerflow::tools
