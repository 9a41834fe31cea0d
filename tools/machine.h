#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace towerflow::tools {

/// What the machine and the process have, as far as a training depends on it.
struct Machine {
  int cores = 1;                  ///< that this process may use
  std::uint64_t memory = 0;       ///< bytes of the machine
  std::uint64_t memory_free = 0;  ///< bytes that a new program could take; 0 where not known
  /// Bytes that the process may lock in memory (`ulimit -l`); nothing: as many as it likes.
  std::optional<std::uint64_t> lock_limit{};
  std::uint64_t locked = 0;     ///< bytes locked now (VmLck)
  std::string instruction_set;  ///< in use by the library's own loops: "x86-64-v3"
  std::string onednn;           ///< version of the library: "2.6.3"
};

Machine this_machine();

/// What `towerflow --version` prints: the version, and below it what the program was made by and
/// runs with.
std::string version_text();

}  // namespace towerflow::tools
