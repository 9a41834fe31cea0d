#pragma once

#include <filesystem>
#include <string_view>

namespace towerflow::fuzz {

/// A folder of this process below the system's temporary one, where the readers, which take paths,
/// find their input. It goes with the process.
const std::filesystem::path& scratch_folder();

/// Writes the file `name` of that folder, over what was there; its path.
std::filesystem::path scratch_file(const char* name, std::string_view bytes);

/// While it lives, what goes to stdout goes nowhere.
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
