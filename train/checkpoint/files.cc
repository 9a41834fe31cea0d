#include "train/checkpoint/files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "core/graph/log.h"
#include "data/file.h"
#include "train/checkpoint/bundle_format.h"

namespace towerflow::train {
namespace {

namespace fs = std::filesystem;

void remove_file(const fs::path& path) {
  std::error_code error;
  fs::remove(path, error);
  if (error) {
    log_message(LogLevel::warning, fmt::format("cannot delete the old checkpoint's {}: {}",
                                               path.string(), error.message()));
  }
}

/// Whether `name` is `base` followed by ".data-NNNNN-of-NNNNN".
bool is_data_file(const std::string& name, const std::string& base) {
  static constexpr std::string_view kForm = ".data-00000-of-00000";
  if (name.size() != base.size() + kForm.size() || !name.starts_with(base)) return false;
  return std::equal(
      kForm.begin(), kForm.end(), name.begin() + static_cast<long>(base.size()),
      [](char form, char c) { return form == '0' ? c >= '0' && c <= '9' : c == form; });
}

}  // namespace

bool checkpoint_exists(const std::string& checkpoint_prefix) {
  std::error_code ignored;
  return fs::exists(bundle_index_path(checkpoint_prefix), ignored) ||
         fs::exists(checkpoint_prefix, ignored);
}

void remove_checkpoint(const std::string& checkpoint_prefix) {
  remove_file(bundle_index_path(checkpoint_prefix));
  const fs::path prefix(checkpoint_prefix);
  const fs::path folder = prefix.has_parent_path() ? prefix.parent_path() : fs::path(".");
  std::vector<std::string> names;
  try {
    names = names_in(folder);
  } catch (const errors::OpError&) {
    // What cannot be listed stays; that the index is gone says that it is no checkpoint.
  }
  for (const std::string& name : names) {
    if (is_data_file(name, prefix.filename().string())) remove_file(folder / name);
  }
  remove_file(checkpoint_prefix + ".meta");
}

}  // namespace towerflow::train
