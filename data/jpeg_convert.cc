#include "data/jpeg_convert.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <random>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/graph/error.h"
#include "data/file.h"
#include "data/tfrecord.h"
#include "ops/image/jpeg_codec.h"

namespace towerflow::data {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFolderHint =
    "the folder must have a subfolder of JPEGs for each label: roses/1.jpg, tulips/2.jpg, ..";
constexpr std::uint64_t kMaxLabelBytes = 1 << 26;
constexpr std::uint32_t kShuffleSeed = 12345;

/// An image of a set, and the place of its label in the list of labels.
struct ListedJpeg {
  fs::path file;
  std::size_t label;
};

bool is_jpeg_folder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

/// Returns the names in a folder, sorted, without those that begin with a dot.
std::vector<std::string> visible_names(const fs::path& folder) {
  std::vector<std::string> names = list_folder(folder);
  std::erase_if(names, [](const std::string& name) { return name.starts_with('.'); });
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> subfolders_of(const fs::path& folder) {
  std::vector<std::string> names = visible_names(folder);
  std::erase_if(names, [&](const std::string& name) { return !is_jpeg_folder(folder / name); });
  return names;
}

/// Returns the lines of a file that are not empty.
std::vector<std::string> label_lines(const fs::path& path) {
  check_regular_file(path);
  std::vector<std::string> lines(1);
  for (const char letter : read_file(path, kMaxLabelBytes)) {
    if (letter == '\n') {
      lines.emplace_back();
    } else if (letter != '\r') {
      lines.back() += letter;
    }
  }
  std::erase_if(lines, [](const std::string& line) { return line.empty(); });
  return lines;
}

std::vector<std::string> jpeg_labels(const fs::path& train_dir, const JpegConvertOptions& options) {
  const std::vector<std::string> subfolders = subfolders_of(train_dir);
  const std::vector<std::string> labels =
      options.labels_file ? label_lines(*options.labels_file) : subfolders;
  if (labels.empty()) {
    throw errors::NotFoundError(
        fmt::format("there is no label in '{}'", options.labels_file.value_or(train_dir).string()),
        {.hint = options.labels_file ? "the file must have a label a line" : kFolderHint});
  }
  std::set<std::string> seen;
  for (const std::string& label : labels) {
    if (label.find('/') != std::string::npos || label.find('\n') != std::string::npos ||
        label == "." || label == "..") {
      throw errors::InvalidArgumentError(
          fmt::format("the label '{}' is no name of a folder on one line", label));
    }
    if (!seen.insert(label).second) {
      throw errors::InvalidArgumentError(
          fmt::format("{} lists the label '{}' twice", options.labels_file->string(), label));
    }
    if (!std::binary_search(subfolders.begin(), subfolders.end(), label)) {
      throw errors::NotFoundError(fmt::format("there is no folder '{}' for the label '{}'",
                                              (train_dir / label).string(), label));
    }
  }
  return labels;
}

/// Throws if a folder of validation images has labels that the training images do not have.
void check_jpeg_labels(const fs::path& folder, const std::vector<std::string>& labels) {
  for (const std::string& name : subfolders_of(folder)) {
    if (std::find(labels.begin(), labels.end(), name) != labels.end()) continue;
    throw errors::InvalidArgumentError(
        fmt::format("the label of '{}' is none of the training images'", (folder / name).string()));
  }
}

/// Returns the images of a set in random order.
std::vector<ListedJpeg> images_in(const fs::path& folder, const std::vector<std::string>& labels) {
  std::vector<ListedJpeg> images;
  for (std::size_t label = 0; label < labels.size(); ++label) {
    if (!is_jpeg_folder(folder / labels[label])) continue;
    for (const std::string& name : visible_names(folder / labels[label])) {
      images.push_back({folder / labels[label] / name, label});
    }
  }
  if (images.empty()) {
    throw errors::NotFoundError(fmt::format("there is no image in '{}'", folder.string()),
                                {.hint = kFolderHint});
  }
  // std::shuffle gives another order with every standard library.
  std::mt19937 random(kShuffleSeed);
  for (std::size_t i = images.size() - 1; i > 0; --i) {
    std::swap(images[i], images[random() % (i + 1)]);
  }
  return images;
}

/// Returns the size of a JPEG. Throws if it cannot be decoded to its end.
image::ImageSize checked_size(const fs::path& file, const std::string& bytes) {
  try {
    std::vector<std::uint8_t> pixels;
    // An eighth of the size is enough to read all data.
    image::decode_jpeg_bytes(bytes, {.channels = 3, .ratio = 8}, [&](const auto& size) {
      pixels.resize(static_cast<std::size_t>(size.elements()));
      return pixels.data();
    });
    return image::jpeg_size(bytes);
  } catch (const errors::InvalidArgumentError& error) {
    throw errors::InvalidArgumentError(fmt::format("{}: {}", file.string(), error.message()),
                                       {.hint = "only JPEGs can be converted"});
  }
}

std::string example_of(const ListedJpeg& image, const std::string& label) {
  check_regular_file(image.file);
  const std::string bytes = read_file(image.file);
  const image::ImageSize size = checked_size(image.file, bytes);
  ExampleBuilder example;
  set_features(example, {.bytes = bytes,
                         .height = size.height,
                         .width = size.width,
                         .label = static_cast<std::int64_t>(image.label) + 1,
                         .text = label,
                         .filename = image.file.filename().string()});
  return example.serialize();
}

/// A set and the files that it becomes.
struct JpegSet {
  std::string name;
  std::vector<ListedJpeg> images;
  std::int64_t most_shards;
  std::vector<std::unique_ptr<TFRecordWriter>> shards{};
};

/// Calls `report()` after each image.
template <class F>
void write_shards(JpegSet& set, const fs::path& out_dir, const std::vector<std::string>& labels,
                  F&& report) {
  const std::size_t images = set.images.size();
  const std::size_t shards = std::min(static_cast<std::size_t>(set.most_shards), images);
  for (std::size_t shard = 0; shard < shards; ++shard) {
    auto& writer = *set.shards.emplace_back(std::make_unique<TFRecordWriter>(
        out_dir / fmt::format("{}-{:05}-of-{:05}", set.name, shard, shards)));
    for (std::size_t i = images * shard / shards; i < images * (shard + 1) / shards; ++i) {
      writer.write(example_of(set.images[i], labels[set.images[i].label]));
      report();
    }
  }
}

/// Deletes the files of an earlier conversion, which a reader would take for files of this one.
void delete_earlier(const fs::path& out_dir, const std::vector<JpegSet>& sets) {
  static const std::regex record_file("(train|validation)-[0-9]{5}-of-[0-9]{5}");
  std::set<std::string> written;
  for (const JpegSet& set : sets) {
    for (const auto& writer : set.shards) written.insert(writer->path().filename().string());
  }
  for (const std::string& name : list_folder(out_dir)) {
    if (std::regex_match(name, record_file) && !written.contains(name)) delete_file(out_dir / name);
  }
}

}  // namespace

void set_features(ExampleBuilder& example, const LabelledJpeg& image) {
  example.int64("image/height", image.height)
      .int64("image/width", image.width)
      .bytes("image/colorspace", "RGB")
      .int64("image/channels", 3)
      .int64("image/class/label", image.label)
      .bytes("image/class/text", image.text)
      .bytes("image/format", "JPEG")
      .bytes("image/filename", image.filename)
      .bytes("image/encoded", image.bytes);
}

JpegCounts convert_jpegs(const fs::path& train_dir, const fs::path& out_dir,
                         const JpegConvertOptions& options) {
  if (options.train_shards < 1 || options.validation_shards < 1) {
    throw errors::InvalidArgumentError("a set needs at least one file");
  }
  const std::vector<std::string> labels = jpeg_labels(train_dir, options);
  std::vector<JpegSet> sets;
  sets.push_back({"train", images_in(train_dir, labels), options.train_shards});
  if (options.validation_dir) {
    if (!options.labels_file) check_jpeg_labels(*options.validation_dir, labels);
    sets.push_back(
        {"validation", images_in(*options.validation_dir, labels), options.validation_shards});
  }
  std::int64_t done = 0, total = 0;
  for (const JpegSet& set : sets) total += static_cast<std::int64_t>(set.images.size());
  make_folder(out_dir);
  const auto report = [&] {
    ++done;
    if (options.progress) options.progress(done, total);
  };
  for (JpegSet& set : sets) write_shards(set, out_dir, labels, report);
  AtomicFile labels_out(out_dir / "labels.txt");
  for (const std::string& label : labels) labels_out.append(label + "\n");
  for (JpegSet& set : sets) {
    for (const auto& writer : set.shards) writer->close();
  }
  labels_out.commit();
  delete_earlier(out_dir, sets);
  const auto train = static_cast<std::int64_t>(sets[0].images.size());
  return {.train = train,
          .validation = total - train,
          .labels = static_cast<std::int64_t>(labels.size())};
}

}  // namespace towerflow::data
