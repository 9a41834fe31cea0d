#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

#include "core/graph/error.h"

namespace towerflow::testing {

/// Returns the four bytes of a number in an IDX header.
inline std::string big_endian(std::uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift);
  return bytes;
}

/// A new temporary folder, removed by the destructor.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "towerflow-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }
  std::size_t files() const {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(path_)) ++count;
    return count;
  }

 private:
  std::filesystem::path path_;
};

inline void write_raw(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

inline std::string read_raw(const std::filesystem::path& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

/// Returns the error that `action` throws as "DataLossError: message", without node and hint, or
/// "nothing".
template <class F>
std::string thrown(F&& action) {
  try {
    action();
  } catch (const Error& error) {
    return std::string(error.kind()) + ": " + error.message();
  }
  return "nothing";
}

/// Returns the path of `name` in the real data. If it is missing, reports that on stderr and
/// returns nullopt. The folder is $TOWERFLOW_DATA, by default ../shared/data from the project's
/// root, where the tests run.
inline std::optional<std::filesystem::path> real_data(const std::string& name) {
  const char* chosen = std::getenv("TOWERFLOW_DATA");
  const std::filesystem::path folder = chosen != nullptr ? chosen : "../shared/data";
  if (std::filesystem::exists(folder / name)) return folder / name;
  std::fprintf(stderr, "SKIPPED: no %s below %s (set TOWERFLOW_DATA)\n", name.c_str(),
               folder.c_str());
  return std::nullopt;
}

}  // namespace towerflow::testing
