#pragma once

#include <filesystem>
#include <string>

namespace towerflow::tools {

/// Where the shipped MNIST sample lies: beside the caller if it is there, else where it was when
/// the command was built.
inline std::string sample_dir() {
  std::error_code error;
  const std::filesystem::path here = std::filesystem::path("samples") / "mnist";
  // A build folder has a samples/mnist too, without digits.
  return std::filesystem::exists(here / "train.tfrecords.gz", error) ? here.string()
                                                                     : TOWERFLOW_SAMPLE_DIR;
}

}  // namespace towerflow::tools
