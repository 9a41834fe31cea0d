// CIFAR-10 or a folder of pictures.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "core/graph/error.h"
#include "models/cifar10/cifar10.h"
#include "models/vaegan/vaegan.h"

namespace towerflow::models::vaegan {
namespace {

namespace fs = std::filesystem;

/// Of the pictures of a folder, every tenth is for tests.
constexpr std::size_t kTestEvery = 10;

bool is_picture(const fs::path& file) {
  std::string ending = file.extension().string();
  for (char& letter : ending) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return ending == ".jpg" || ending == ".jpeg" || ending == ".png";
}

/// Returns the pictures of a folder and of those below it, by name.
std::vector<std::string> pictures_below(const std::string& folder) {
  std::vector<std::string> pictures;
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    if (is_picture(at->path())) pictures.push_back(at->path().string());
  }
  std::sort(pictures.begin(), pictures.end());
  return pictures;
}

/// Returns whether a folder has files of CIFAR-10, which are then taken and not its pictures.
bool has_cifar10(const std::string& folder) {
  std::error_code error;
  return fs::exists(fs::path(folder) / "data_batch_1.bin", error) ||
         fs::exists(fs::path(folder) / "test_batch.bin", error);
}

std::vector<std::string> image_files(const std::string& folder, Part part) {
  std::vector<std::string> pictures;
  if (!has_cifar10(folder)) pictures = pictures_below(folder);
  if (pictures.empty()) return cifar10::kImages.files_of(folder, part);
  if (pictures.size() < kTestEvery) {
    throw errors::InvalidArgumentError(
        fmt::format("'{}' has {} picture{}, at least {} are needed", folder, pictures.size(),
                    pictures.size() == 1 ? "" : "s", kTestEvery),
        {.hint = "every tenth is kept for tests"});
  }
  std::vector<std::string> files;
  for (std::size_t i = 0; i < pictures.size(); ++i) {
    const bool for_test = i % kTestEvery == kTestEvery - 1;
    if (for_test == (part == Part::test)) files.push_back(pictures[i]);
  }
  return files;
}

std::int64_t count_images(const std::vector<std::string>& files) {
  if (are_pictures(files)) return static_cast<std::int64_t>(files.size());
  return cifar10::kImages.count(files);
}

}  // namespace

bool are_pictures(const std::vector<std::string>& files) {
  return !files.empty() && is_picture(files.front());
}

const DataSet kImages{.name = "cifar10",
                      .examples = "images",
                      .files =
                          "JPEGs or PNGs, or with CIFAR-10's data_batch_1.bin .. "
                          "data_batch_5.bin and test_batch.bin",
                      .made = cifar10::kImages.made,
                      .files_of = image_files,
                      .count = count_images,
                      .make = cifar10::kImages.make};

}  // namespace towerflow::models::vaegan
