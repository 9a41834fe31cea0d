// A text, and the classes of its characters.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <numeric>

#include "core/graph/error.h"
#include "data/file.h"
#include "models/char_lstm/char_lstm.h"

namespace towerflow::models::char_lstm {
namespace {

/// Returns the text in the folder, for both parts: a part is a range of it.
std::vector<std::string> files_of(const std::string& folder, Part) {
  std::vector<std::string> files;
  for (const std::string& name : list_folder(folder)) {
    const std::filesystem::path file = std::filesystem::path(folder) / name;
    if (file.extension() == ".txt") files.push_back(file.string());
  }
  if (files.size() == 1) return files;
  throw errors::NotFoundError(
      fmt::format("there {} in '{}'",
                  files.empty() ? "is no text" : fmt::format("are {} texts", files.size()), folder),
      {.hint = "the folder must hold one file whose name ends with .txt"});
}

std::int64_t count(const std::vector<std::string>& files) {
  return window_count(read_text(files[0]));
}

}  // namespace

const DataSet kText{.name = "char_lstm",
                    .examples = "windows of text",
                    .files = "one text, NAME.txt",
                    .made = "",
                    .files_of = files_of,
                    .count = count,
                    .make = nullptr};

Text read_text(const std::string& file) {
  const std::string all = read_file(file);
  const std::size_t training = all.size() * 9 / 10;
  if (training == 0) {
    throw ValueError(fmt::format("'{}' is too short: a tenth of it must be held out", file));
  }
  return {all.substr(0, training), all.substr(training)};
}

std::int64_t window_count(const Text& text) {
  const auto bytes = static_cast<std::int64_t>(text.training.size());
  return (bytes - 1) / kSeqLength;
}

Vocabulary::Vocabulary(const std::string& text) : codes_(int32, Shape{kBytes}) {
  std::array<std::int64_t, kBytes> counts{};
  for (const char c : text) ++counts[static_cast<unsigned char>(c)];
  std::array<std::size_t, kBytes> order{};
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return counts[a] > counts[b]; });
  const auto seen = std::count_if(counts.begin(), counts.end(), [](auto n) { return n > 0; });
  classes_ = seen + 1;
  for (std::int64_t i = 0; i < kBytes; ++i) {
    codes_.data<std::int32_t>()[order[static_cast<std::size_t>(i)]] =
        static_cast<std::int32_t>(std::min<std::int64_t>(i, seen));
  }
}

}  // namespace towerflow::models::char_lstm
