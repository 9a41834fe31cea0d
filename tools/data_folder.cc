#include "tools/data_folder.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "core/graph/error.h"
#include "data/file.h"
#include "tools/sample_dir.h"

namespace towerflow::tools {

namespace fs = std::filesystem;

DataFolder::DataFolder(const models::DataSet& data, const std::string& given,
                       const std::string& train_dir)
    : data_(data), path_(given) {
  if (!path_.empty()) return;
  if (data.make == nullptr) {
    path_ = sample_dir(data);
    source_ = fmt::format("the sample in {}", path_);
    return;
  }
  source_ = fmt::format("{}, made by this program", data.made);
  if (!train_dir.empty()) {
    path_ = (fs::path(train_dir) / "data").string();
    make_folder(path_);
  } else {
    path_ = (fs::temp_directory_path() / "towerflow-XXXXXX").string();
    if (::mkdtemp(path_.data()) == nullptr) {
      throw errors::UnavailableError(fmt::format("cannot make a folder like '{}': {}", path_,
                                                 std::generic_category().message(errno)));
    }
    temporary_ = true;
  }
  data.make(path_);
}

DataFolder::~DataFolder() { remove_temporary(); }

void DataFolder::remove_temporary() const {
  std::error_code error;
  if (temporary_) fs::remove_all(path_, error);
}

std::string DataFolder::banner() const {
  if (source_.empty()) return "";
  return fmt::format("Data: {}; --data-dir names a folder with {}.\n", source_, data_.files);
}

std::string data_dir_help(const models::DataSet& data) {
  return fmt::format("folder with {}; {} when not given", data.files,
                     data.make == nullptr ? sample_dir(data) : data.made);
}

}  // namespace towerflow::tools
