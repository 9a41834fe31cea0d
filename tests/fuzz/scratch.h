#pragma once

#include <filesystem>
#include <string_view>

namespace towerflow::fuzz {

/// Returns a folder of this process in the system's temporary folder for the input of readers that
/// take paths. It is removed at exit.
const std::filesystem::path& scratch_folder();

/// Writes or overwrites the file `name` in that folder and returns its path.
std::filesystem::path scratch_file(const char* name, std::string_view bytes);

/// Discards output to stdout for its lifetime.
class SilentOutput {
 public:
  SilentOutput();
  ~SilentOutput();
  SilentOutput(const SilentOutput&) = delete;
  SilentOutput& operator=(const SilentOutput&) = delete;

 private:
  int kept_;
};

}  // namespace towerflow::fuzz
