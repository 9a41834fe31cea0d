#pragma once

#include <filesystem>
#include <string>

namespace towerflow::tools {

/// Where the shipped MNIST sample lies: beside the caller if it is there, else in the tree that the
/// command is installed in, else where it was when the command was built.
inline std::string sample_dir() {
  namespace fs = std::filesystem;
  std::error_code error;
  // A build folder has a samples/mnist too, without digits.
  const auto has_digits = [&](const fs::path& folder) {
    return fs::exists(folder / "train.tfrecords.gz", error);
  };
  const fs::path here = fs::path("samples") / "mnist";
  if (has_digits(here)) return here.string();
  // Found from the running command, so that an installed tree can be moved as a whole.
  const fs::path bin = fs::read_symlink("/proc/self/exe", error).parent_path();
  const fs::path installed = bin.parent_path() / TOWERFLOW_DATA_DIR / "towerflow" / here;
  return has_digits(installed) ? installed.string() : TOWERFLOW_SAMPLE_DIR;
}

}  // namespace towerflow::tools
