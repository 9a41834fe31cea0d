#pragma once

#include <string>

#include "models/data_set.h"

namespace towerflow::tools {

/// The folder with the data of a run: the one given, the sample that the project ships, or a small
/// set that is made for the run.
class DataFolder {
 public:
  /// A set that is made is kept in `train_dir`/data, so that a training can continue; without a
  /// train_dir it is deleted with this object.
  DataFolder(const models::DataSet& data, const std::string& given, const std::string& train_dir);
  ~DataFolder();
  DataFolder(const DataFolder&) = delete;
  DataFolder& operator=(const DataFolder&) = delete;

  /// Deletes a set that was made and would not be kept.
  void remove_temporary() const;

  const std::string& path() const { return path_; }
  /// Returns a line that says which data are taken; empty if they were given.
  std::string banner() const;

 private:
  const models::DataSet& data_;
  std::string path_;
  std::string source_;  ///< what the data are if they were not given
  bool temporary_ = false;
};

/// Returns the help of `--data-dir`.
std::string data_dir_help(const models::DataSet& data);

}  // namespace towerflow::tools
