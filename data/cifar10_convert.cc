#include "data/cifar10_convert.h"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "core/graph/error.h"
#include "data/cifar10.h"
#include "data/example.h"
#include "data/file.h"
#include "data/tfrecord.h"

namespace towerflow::data {
namespace {

namespace fs = std::filesystem;

/// A set, the files it is made of and the one it becomes.
struct Conversion {
  const char* name;
  std::vector<std::string> sources;
  std::int64_t Cifar10Counts::*count;
  std::vector<fs::path> found{};
  std::unique_ptr<TFRecordWriter> writer{};
};

/// Returns the files of a set that are there, each plain or with .gz.
std::vector<fs::path> found_files(const fs::path& folder, const std::vector<std::string>& names) {
  std::vector<fs::path> files;
  std::error_code error;
  for (const std::string& name : names) {
    for (const char* ending : {".bin", ".bin.gz"}) {
      const fs::path file = folder / (name + ending);
      if (!fs::exists(file, error)) continue;
      files.push_back(file);
      break;
    }
  }
  return files;
}

/// Writes the images of one file and returns their number.
std::int64_t write_images(const Cifar10Set& set, TFRecordWriter& writer) {
  constexpr std::size_t kPlane = 32 * 32, kColours = 3;
  const auto* pixels = set.images.data<std::uint8_t>();
  const std::int64_t images = set.labels.elements();
  ExampleBuilder example;
  std::string planes(kColours * kPlane, '\0');
  for (std::int64_t i = 0; i < images; ++i, pixels += kColours * kPlane) {
    for (std::size_t at = 0; at < kPlane; ++at) {
      for (std::size_t colour = 0; colour < kColours; ++colour) {
        planes[colour * kPlane + at] = static_cast<char>(pixels[at * kColours + colour]);
      }
    }
    example.bytes("image", planes).int64("label", set.labels.data<std::uint8_t>()[i]);
    writer.write(example.serialize());
  }
  return images;
}

}  // namespace

Cifar10Counts convert_cifar10(
    const fs::path& folder, const fs::path& out_dir,
    const std::function<void(std::int64_t done, std::int64_t total)>& progress) {
  std::vector<Conversion> sets;
  sets.push_back({"train",
                  {"data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4"},
                  &Cifar10Counts::train});
  sets.push_back({"validation", {"data_batch_5"}, &Cifar10Counts::validation});
  sets.push_back({"eval", {"test_batch"}, &Cifar10Counts::eval});
  std::int64_t done = 0, total = 0;
  for (Conversion& set : sets) {
    set.found = found_files(folder, set.sources);
    total += static_cast<std::int64_t>(set.found.size());
  }
  if (total == 0) {
    throw errors::NotFoundError(
        fmt::format("there is no data_batch_1.bin in '{}'", folder.string()),
        {.hint = "the folder must hold the files of CIFAR-10's binary version, unpacked: "
                 "cifar-10-batches-bin"});
  }
  make_folder(out_dir);
  Cifar10Counts counts;
  const auto path_of = [&](const Conversion& set) {
    return out_dir / (std::string(set.name) + ".tfrecords");
  };
  for (Conversion& set : sets) {
    if (!set.found.empty()) set.writer = std::make_unique<TFRecordWriter>(path_of(set));
    for (const fs::path& file : set.found) {
      counts.*set.count += write_images(read_cifar10_file(file.string()), *set.writer);
      if (progress) progress(++done, total);
    }
  }
  for (Conversion& set : sets) {
    if (set.writer) set.writer->close();
  }
  for (const Conversion& set : sets) {
    if (!set.writer) delete_file(path_of(set));
  }
  return counts;
}

}  // namespace towerflow::data
