#pragma once

#include <filesystem>
#include <string>

namespace towerflow::tools {

/// Returns the folder of a shipped sample, "mnist": in the working directory if it is there, else
/// in the tree in which the command is installed, else where it was when the command was built.
inline std::string sample_dir(const std::string& name) {
  namespace fs = std::filesystem;
  std::error_code error;
  // A build folder also has a samples/mnist, but without data.
  const auto has_digits = [&](const fs::path& folder) {
    return fs::exists(folder / "train.tfrecords.gz", error);
  };
  const fs::path here = fs::path("samples") / name;
  if (has_digits(here)) return here.string();
  // Relative to the running command, so that an installed tree can be moved as a whole.
  const fs::path bin = fs::read_symlink("/proc/self/exe", error).parent_path();
  const fs::path installed = bin.parent_path() / TOWERFLOW_DATA_DIR / "towerflow" / here;
  return has_digits(installed) ? installed.string() : TOWERFLOW_SAMPLES_DIR "/" + name;
}

}  // namespace towerflow::tools
