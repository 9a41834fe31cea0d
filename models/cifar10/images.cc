// The files of CIFAR-10, and a small set like it.
#include <fmt/format.h>

#include <array>
#include <filesystem>

#include "core/graph/error.h"
#include "data/cifar10.h"
#include "data/file.h"
#include "models/cifar10/cifar10.h"
#include "towerflow/tf.h"

namespace towerflow::models::cifar10 {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> files_of(const std::string& folder, Part part) {
  std::vector<std::string> names{"test_batch.bin"};
  if (part == Part::train) {
    names.clear();
    for (int i = 1; i <= 5; ++i) names.push_back(fmt::format("data_batch_{}.bin", i));
  }
  std::vector<std::string> files;
  std::error_code error;
  for (const std::string& name : names) {
    const fs::path file = fs::path(folder) / name;
    if (fs::exists(file, error)) files.push_back(file.string());
  }
  if (files.empty()) {
    throw errors::NotFoundError(
        fmt::format("there is no {} in '{}'", part == Part::train ? "data_batch_1.bin" : names[0],
                    folder),
        {.hint = "the folder must hold the files of CIFAR-10's binary version, unpacked: "
                 "cifar-10-batches-bin"});
  }
  return files;
}

std::int64_t count(const std::vector<std::string>& files) {
  std::int64_t images = 0;
  for (const std::string& file : files) images += data::read_cifar10_file(file).labels.elements();
  return images;
}

/// A generator of numbers that are the same on every machine. (splitmix64)
class Numbers {
 public:
  explicit Numbers(std::uint64_t seed) : state_(seed) {}
  /// Returns a number from 0 to `end` - 1.
  int below(int end) {
    state_ += 0x9E3779B97F4A7C15;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return static_cast<int>((z ^ (z >> 31)) % static_cast<std::uint64_t>(end));
  }

 private:
  std::uint64_t state_;
};

/// Returns one record: stripes whose direction and width depend on the class, in two random
/// colours, with noise.
std::string striped_image(int label, Numbers& numbers) {
  constexpr int kSide = 32;
  const int period = 4 + 2 * (label / 4);  // 4, 6 or 8 pixels
  const int direction = label % 4, start = numbers.below(period);
  std::array<int, 3> dark, light;
  for (std::size_t colour = 0; colour < 3; ++colour) {
    dark[colour] = numbers.below(110);
    light[colour] = 140 + numbers.below(90);
  }
  std::string record(1, static_cast<char>(label));
  for (std::size_t colour = 0; colour < 3; ++colour) {
    for (int y = 0; y < kSide; ++y) {
      for (int x = 0; x < kSide; ++x) {
        const std::array<int, 4> along{x, y, x + y, x - y + kSide};
        const int place = (along[static_cast<std::size_t>(direction)] + start) % period;
        const int base = 2 * place < period ? dark[colour] : light[colour];
        record += static_cast<char>(base + numbers.below(25));
      }
    }
  }
  return record;
}

void write_file(const fs::path& path, int images, std::uint64_t seed) {
  Numbers numbers(seed);
  AtomicFile file(path.string());
  for (int i = 0; i < images; ++i) file.append(striped_image(i % kClasses, numbers));
  file.commit();
}

void make(const std::string& folder) {
  write_file(fs::path(folder) / "data_batch_1.bin", 2000, 1);
  write_file(fs::path(folder) / "test_batch.bin", 500, 2);
}

}  // namespace

const DataSet kImages{.name = "cifar10",
                      .examples = "images",
                      .files = "data_batch_1.bin .. data_batch_5.bin and test_batch.bin",
                      .made = "2,000 images of stripes in ten directions and widths",
                      .files_of = files_of,
                      .count = count,
                      .make = make};

}  // namespace towerflow::models::cifar10
