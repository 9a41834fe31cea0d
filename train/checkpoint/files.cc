#include "train/checkpoint/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <filesystem>
#include <memory>
#include <string_view>
#include <system_error>
#include <vector>

#include "core/graph/log.h"
#include "data/file.h"
#include "train/checkpoint/bundle_format.h"
#include "train/checkpoint/checkpoint_state.h"

namespace towerflow::train {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMarkEnd = ".unlisted";

fs::path folder_of(const fs::path& prefix) {
  return prefix.has_parent_path() ? prefix.parent_path() : fs::path(".");
}

/// Returns whether `name` is `base` followed by ".data-NNNNN-of-NNNNN".
bool is_data_file(std::string_view name, std::string_view base) {
  static constexpr std::string_view kForm = ".data-00000-of-00000";
  if (name.size() != base.size() + kForm.size() || !name.starts_with(base)) return false;
  return std::equal(
      kForm.begin(), kForm.end(), name.begin() + static_cast<long>(base.size()),
      [](char form, char c) { return form == '0' ? c >= '0' && c <= '9' : c == form; });
}

/// An open folder: it stays the same one if its path is replaced, and links in it are not followed.
class Folder {
 public:
  explicit Folder(const fs::path& path)
      : path_(path),
        descriptor_(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
        error_(descriptor_ < 0 ? errno : 0) {}
  ~Folder() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  bool is_same(const Folder& other) const {
    struct stat own {
    }, others{};
    return ::fstat(descriptor_, &own) == 0 && ::fstat(other.descriptor_, &others) == 0 &&
           own.st_dev == others.st_dev && own.st_ino == others.st_ino;
  }

  /// Returns the names of the entries; none if the folder cannot be read.
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    const std::unique_ptr<DIR, int (*)(DIR*)> entries(
        ::fdopendir(::openat(descriptor_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)), ::closedir);
    if (entries == nullptr) return names;
    while (const dirent* entry = ::readdir(entries.get())) names.emplace_back(entry->d_name);
    return names;
  }

  void remove_checkpoint(const std::string& name) const {
    if (error_ != 0 && error_ != ENOENT) warn(name, error_);
    if (error_ != 0) return;
    remove(name + ".index");
    for (const std::string& other : names()) {
      if (is_data_file(other, name)) remove(other);
    }
    remove(name + ".meta");
  }

 private:
  void remove(const std::string& name) const {
    if (::unlinkat(descriptor_, name.c_str(), 0) != 0 && errno != ENOENT) warn(name, errno);
  }
  void warn(const std::string& name, int error) const {
    log_message(LogLevel::warning,
                fmt::format("cannot delete the old checkpoint's {}: {}", (path_ / name).string(),
                            std::generic_category().message(error)));
  }

  fs::path path_;
  int descriptor_;
  int error_;
};

/// Returns whether a state file of the folder lists the checkpoint `name`; nothing if it is
/// unreadable.
std::optional<bool> is_listed(const std::string& name, const fs::path& folder,
                              const std::string& state_name) {
  std::error_code error;
  if (fs::symlink_status(folder / state_name, error).type() == fs::file_type::not_found)
    return false;
  const auto state = get_checkpoint_state(folder.string(), state_name);
  if (!state) return std::nullopt;
  std::vector<std::string> listed = state->all_model_checkpoint_paths;
  listed.push_back(state->model_checkpoint_path);
  return std::any_of(listed.begin(), listed.end(), [&](const std::string& prefix) {
    return fs::path(prefix).filename() == name && is_in_folder(prefix, folder.string());
  });
}

/// Returns the checkpoint that a mark file of this name belongs to; "" if it is no mark file.
std::string marked_checkpoint(const std::string& name) {
  if (name.size() <= 1 + kMarkEnd.size() || name[0] != '.' || !name.ends_with(kMarkEnd)) return "";
  return name.substr(1, name.size() - 1 - kMarkEnd.size());
}

}  // namespace

bool checkpoint_exists(const std::string& checkpoint_prefix) {
  check_path(checkpoint_prefix);
  std::error_code ignored;
  return fs::exists(bundle_index_path(checkpoint_prefix), ignored) ||
         fs::exists(checkpoint_prefix, ignored);
}

void remove_checkpoint(const std::string& checkpoint_prefix) {
  check_path(checkpoint_prefix);
  const fs::path prefix(checkpoint_prefix);
  Folder(folder_of(prefix)).remove_checkpoint(prefix.filename().string());
}

bool is_in_folder(const std::string& checkpoint_prefix, const std::string& folder) {
  check_path(checkpoint_prefix);
  check_path(folder);
  return Folder(folder_of(checkpoint_prefix)).is_same(Folder(folder));
}

std::optional<LockFile> mark_unlisted(const std::string& checkpoint_prefix,
                                      const std::string& latest_filename, LockFile::Others others) {
  const fs::path prefix(checkpoint_prefix);
  try {
    return LockFile::make(
        folder_of(prefix) / fmt::format(".{}{}", prefix.filename().string(), kMarkEnd),
        latest_filename, others);
  } catch (const errors::OpError&) {
    return std::nullopt;
  }
}

void remove_unlisted_checkpoints(const std::string& path) noexcept {
  try {
    const Folder folder(path);
    for (const std::string& name : folder.names()) {
      const std::string checkpoint = marked_checkpoint(name);
      if (checkpoint.empty()) continue;
      LockFile mark = LockFile::adopt(fs::path(path) / name);
      const std::string& state = mark.content();
      if (mark.state() != LockFile::State::held || state.empty() ||
          state.find_first_of(std::string_view("/\0", 2)) != std::string::npos)
        continue;
      mark.set_keep_file(true);  // until it has served its purpose
      const std::optional<bool> listed = is_listed(checkpoint, path, state);
      if (!listed) continue;
      if (!*listed) folder.remove_checkpoint(checkpoint);
      mark.set_keep_file(false);
    }
  } catch (const std::exception&) {
    // Leftovers only take up space.
  }
}

}  // namespace towerflow::train
