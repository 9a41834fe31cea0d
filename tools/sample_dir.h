#pragma once

#include <filesystem>
#include <string>

#include "core/graph/error.h"
#include "models/data_set.h"

namespace towerflow::tools {

/// Returns the folder of a data set's sample: in the working directory if it is there, else in the
/// tree in which the command is installed, else where it was when the command was built.
inline std::string sample_dir(const models::DataSet& data) {
  namespace fs = std::filesystem;
  // A build folder also has a samples/mnist, but without data.
  const auto has_data = [&](const fs::path& folder) {
    try {
      return !data.files_of(folder.string(), models::Part::train).empty();
    } catch (const Error&) {
      return false;
    }
  };
  const fs::path here = fs::path("samples") / data.name;
  if (has_data(here)) return here.string();
  // Relative to the running command, so that an installed tree can be moved as a whole.
  std::error_code error;
  const fs::path bin = fs::read_symlink("/proc/self/exe", error).parent_path();
  const fs::path installed = bin.parent_path() / TOWERFLOW_DATA_DIR / "towerflow" / here;
  return has_data(installed) ? installed.string() : TOWERFLOW_SAMPLES_DIR "/" + data.name;
}

}  // namespace towerflow::tools
