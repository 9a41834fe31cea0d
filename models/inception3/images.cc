// JPEGs of ImageNet's schema in TFRecords, and a small set like them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <random>

#include "core/graph/error.h"
#include "data/example.h"
#include "data/jpeg_convert.h"
#include "data/tfrecord.h"
#include "models/inception3/inception3.h"
#include "ops/image/jpeg_codec.h"

namespace towerflow::models::inception3 {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> record_files(const std::string& folder, Part part) {
  const std::string subset = part == Part::train ? "train" : "validation";
  std::vector<std::string> files;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(subset + "-")) files.push_back(entry.path().string());
  }
  if (files.empty()) {
    throw errors::NotFoundError(
        fmt::format("there is no file {}-* in '{}'", subset, folder),
        {.hint = "the folder must hold TFRecords of JPEGs, as `towerflow convert inception3` and "
                 "build_imagenet_data.py write them: train-00000-of-01024, .., "
                 "validation-00000-of-00128, .."});
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// Draws the same numbers on every machine.
class Draws {
 public:
  explicit Draws(std::uint32_t seed) : generator_(seed) {}
  int from(int first, int last) {
    return first + static_cast<int>(generator_() % static_cast<std::uint32_t>(last - first + 1));
  }

 private:
  std::mt19937 generator_;
};

/// Returns a JPEG of stripes, whose direction and width depend on the class, in two random colours,
/// with noise.
std::string striped_jpeg(int label, const image::ImageSize& size, Draws& draws) {
  const int period = 12 + 12 * (label / 4), direction = label % 4;
  const int start = draws.from(0, period - 1);
  std::array<int, 3> dark, light;
  for (std::size_t c = 0; c < 3; ++c) {
    dark[c] = draws.from(0, 110);
    light[c] = draws.from(140, 230);
  }
  std::string pixels;
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      const std::array<int, 4> along{x, y, x + y, x - y + static_cast<int>(size.height)};
      const int place = (along[static_cast<std::size_t>(direction)] + start) % period;
      const auto& colour = 2 * place < period ? dark : light;
      for (const int base : colour) pixels += static_cast<char>(base + draws.from(0, 24));
    }
  }
  return image::encode_jpeg_bytes(reinterpret_cast<const std::uint8_t*>(pixels.data()), size, {});
}

void write_records(const fs::path& path, int images, std::uint32_t seed) {
  constexpr int kStripedClasses = 8;
  Draws draws(seed);
  data::TFRecordWriter writer(path);
  for (int i = 0; i < images; ++i) {
    const int label = i % kStripedClasses;
    const image::ImageSize size{draws.from(80, 240), draws.from(80, 240), 3};
    const std::string jpeg = striped_jpeg(label, size, draws);
    data::ExampleBuilder example;
    data::set_features(example, {.bytes = jpeg,
                                 .height = size.height,
                                 .width = size.width,
                                 .label = 1 + label,
                                 .text = fmt::format("stripes {}", label),
                                 .filename = fmt::format("stripes_{:03}.jpg", i)});
    for (const char* side : {"xmin", "xmax", "ymin", "ymax"}) {
      example.float_list(std::string("image/object/bbox/") + side, {});
    }
    writer.write(example.serialize());
  }
  writer.close();
}

void make_records(const std::string& folder) {
  write_records(fs::path(folder) / "train-00000-of-00001", 64, 1);
  write_records(fs::path(folder) / "validation-00000-of-00001", 16, 2);
}

}  // namespace

const DataSet kImages{.name = "imagenet",
                      .examples = "images",
                      .files = "TFRecords of JPEGs, train-* and validation-*",
                      .made = "64 images of stripes in eight directions and widths",
                      .files_of = record_files,
                      .count = count_records,
                      .make = make_records};

}  // namespace towerflow::models::inception3
