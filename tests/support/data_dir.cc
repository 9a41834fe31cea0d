#include "tests/support/data_dir.h"

#include <cstdlib>
#include <stdexcept>

namespace towerflow::test {

namespace fs = std::filesystem;

fs::path source_root() { return TOWERFLOW_SOURCE_ROOT; }

std::optional<fs::path> real_data(std::string_view name) {
  fs::path folder = source_root().parent_path() / "shared" / "data";
  if (const char* chosen = std::getenv("TOWERFLOW_DATA"); chosen != nullptr && *chosen != '\0') {
    folder = chosen;
    if (!fs::is_directory(folder)) {
      throw std::runtime_error("TOWERFLOW_DATA names no folder: " + folder.string());
    }
  }
  const fs::path found = folder / name;
  if (!fs::exists(found)) return std::nullopt;
  return found;
}

}  // namespace towerflow::test
