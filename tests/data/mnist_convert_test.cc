#include "data/mnist_convert.h"

#include <set>
#include <vector>

#include "data/example.h"
#include "data/idx.h"
#include "tests/data/support.h"

namespace towerflow::data {
namespace {

using testing::big_endian;
using testing::ScratchFolder;
using testing::thrown;
using testing::write_raw;

/// Writes IDX files of `count` digits: digit i has the label i % 10 and pixels `base` + i.
void write_digits(const std::filesystem::path& folder, const std::string& name, std::uint32_t count,
                  unsigned base) {
  std::string images = big_endian(0x803) + big_endian(count) + big_endian(28) + big_endian(28);
  std::string labels = big_endian(0x801) + big_endian(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    images += std::string(784, static_cast<char>(base + i));
    labels += static_cast<char>(i % 10);
  }
  write_raw(folder / (name + "-images-idx3-ubyte"), images);
  write_raw(folder / (name + "-labels-idx1-ubyte"), labels);
}

/// Returns the first pixel of each digit in a file and checks the labels.
std::vector<int> digits_in(const std::filesystem::path& path, unsigned base) {
  const ExampleParser parser({{"image_raw", {Shape{}, string}}, {"label", {Shape{}, int64}}});
  TFRecordReader reader(path);
  std::vector<int> digits;
  while (const auto record = reader.next()) {
    const auto values = parser.parse_single(*record);
    const std::string& pixels = values[0].data<std::string>()[0];
    REQUIRE(pixels == std::string(784, pixels.at(0)));
    digits.push_back(static_cast<unsigned char>(pixels[0]));
    REQUIRE(values[1].item<std::int64_t>() == (digits.back() - static_cast<int>(base)) % 10);
  }
  return digits;
}

TEST_CASE("convert_mnist: the first digits are the validation set") {
  ScratchFolder folder;
  write_digits(folder.path(), "train", 12, 0);
  write_digits(folder.path(), "t10k", 3, 100);
  const auto out = folder / "made/here";
  const MnistCounts counts = convert_mnist(folder.path(), out, {.validation_size = 4});
  CHECK(counts.train == 8);
  CHECK(counts.validation == 4);
  CHECK(counts.test == 3);
  CHECK(digits_in(out / "train.tfrecords", 0) == std::vector<int>{4, 5, 6, 7, 8, 9, 10, 11});
  CHECK(digits_in(out / "validation.tfrecords", 0) == std::vector<int>{0, 1, 2, 3});
  CHECK(digits_in(out / "test.tfrecords", 100) == std::vector<int>{100, 101, 102});
  const auto geometry =
      ExampleParser(
          {{"height", {Shape{}, int64}}, {"width", {Shape{}, int64}}, {"depth", {Shape{}, int64}}})
          .parse_single(*TFRecordReader(out / "train.tfrecords").next());
  CHECK(geometry[0].item<std::int64_t>() == 28);
  CHECK(geometry[1].item<std::int64_t>() == 28);
  CHECK(geometry[2].item<std::int64_t>() == 1);
}

TEST_CASE("convert_mnist: limits, gzip, without geometry") {
  ScratchFolder folder;
  write_digits(folder.path(), "train", 12, 0);
  write_digits(folder.path(), "t10k", 3, 100);
  const auto out = folder / "out";
  const MnistCounts counts = convert_mnist(folder.path(), out,
                                           {.compression = Compression::gzip,
                                            .validation_size = 4,
                                            .max_train = 2,
                                            .max_validation = 0,
                                            .max_test = 50,
                                            .with_geometry = false});
  CHECK(counts.train == 2);
  CHECK(counts.validation == 0);
  CHECK(counts.test == 3);
  CHECK(digits_in(out / "train.tfrecords.gz", 0) == std::vector<int>{4, 5});
  CHECK_FALSE(std::filesystem::exists(out / "validation.tfrecords.gz"));
  const ExampleParser height({{"height", {Shape{}, int64}}});
  const auto record = TFRecordReader(out / "train.tfrecords.gz").next();
  CHECK_THROWS_AS(height.parse_single(*record), errors::InvalidArgumentError);
}

TEST_CASE("convert_mnist: nothing of an earlier conversion stays beside a later one") {
  ScratchFolder folder;
  write_digits(folder.path(), "train", 12, 0);
  write_digits(folder.path(), "t10k", 3, 100);
  const auto out = folder / "out";
  const auto names = [&] {
    std::set<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(out))
      found.insert(entry.path().filename().string());
    return found;
  };
  convert_mnist(folder.path(), out, {.validation_size = 4});
  write_raw(out / "other.tfrecords", "not one of its names");
  convert_mnist(folder.path(), out, {.compression = Compression::gzip, .validation_size = 4});
  CHECK(names() == std::set<std::string>{"other.tfrecords", "test.tfrecords.gz",
                                         "train.tfrecords.gz", "validation.tfrecords.gz"});
  convert_mnist(folder.path(), out, {.compression = Compression::zlib, .validation_size = 0});
  CHECK(names() ==
        std::set<std::string>{"other.tfrecords", "test.tfrecords.zlib", "train.tfrecords.zlib"});
  // A failed conversion leaves the earlier one intact.
  CHECK_FALSE(thrown([&] { convert_mnist(folder.path(), out, {.validation_size = 13}); }).empty());
  CHECK(names().size() == 3);
}

TEST_CASE("convert_mnist: errors leave the folder as it was") {
  ScratchFolder folder;
  write_digits(folder.path(), "train", 12, 0);
  const auto out = folder / "out";
  const auto converted = [&](MnistConvertOptions options) {
    return thrown([&] { convert_mnist(folder.path(), out, options); });
  };
  CHECK(converted({.validation_size = -1}) ==
        "InvalidArgumentError: the size of the validation set must not be negative, got -1");
  CHECK(converted({.max_test = -5}) ==
        "InvalidArgumentError: the number of test digits must not be negative, got -5");
  CHECK(converted({}).starts_with("NotFoundError: no t10k-images-idx3-ubyte"));
  write_digits(folder.path(), "t10k", 3, 100);
  CHECK(converted({}) ==
        "InvalidArgumentError: a validation set of 5000 digits does not fit into the 12 of the "
        "training set");
  CHECK_FALSE(std::filesystem::exists(out));
  write_raw(out, "a file");
  CHECK(converted({.validation_size = 4})
            .starts_with("FailedPreconditionError: cannot create folder " + out.string()));
  std::filesystem::remove(out);
  std::filesystem::create_directories(out / "test.tfrecords");  // blocks the last file
  CHECK(converted({.validation_size = 4}).find("Is a directory") != std::string::npos);
  for (const auto& entry : std::filesystem::directory_iterator(out))
    CHECK(entry.path().extension() != ".tmp");
}

TEST_CASE("sample: 5,000 and 1,000 digits, each class, as the README says") {
  const ExampleParser parser({{"image_raw", {Shape{}, string}}, {"label", {Shape{}, int64}}});
  const auto real = testing::real_data("mnist");
  for (const bool training : {true, false}) {
    TFRecordReader reader(training ? "samples/mnist/train.tfrecords.gz"
                                   : "samples/mnist/test.tfrecords.gz");
    std::optional<MnistSet> set;
    if (real) set = read_mnist_set(*real, training ? "train" : "t10k");
    const std::size_t first = training ? 5000 : 0;
    std::vector<int> by_label(10);
    while (const auto record = reader.next()) {
      const auto values = parser.parse_single(*record);
      const std::string& pixels = values[0].data<std::string>()[0];
      const std::int64_t label = values[1].item<std::int64_t>();
      REQUIRE(pixels.size() == 784);
      ++by_label.at(static_cast<std::size_t>(label));
      if (!set) continue;
      const std::size_t digit = first + reader.records_read() - 1;
      REQUIRE(set->labels.data<std::uint8_t>()[digit] == label);
      REQUIRE(std::memcmp(set->images.data<std::uint8_t>() + digit * 784, pixels.data(), 784) == 0);
    }
    CHECK(reader.records_read() == (training ? 5000 : 1000));
    for (const int count : by_label) CHECK(count > (training ? 400 : 80));
  }
}

TEST_CASE("convert_mnist: the whole database [real data]") {
  const auto real = testing::real_data("mnist");
  CHECK(true);  // real_data() reports missing data
  if (!real) return;
  ScratchFolder folder;
  const MnistCounts counts = convert_mnist(*real, folder.path());
  CHECK(counts.train == 55000);
  CHECK(counts.validation == 5000);
  CHECK(counts.test == 10000);
  const MnistSet set = read_mnist_set(*real, "train");
  const ExampleParser parser({{"image_raw", {Shape{}, string}}, {"label", {Shape{}, int64}}});
  std::size_t digit = 0;
  for (const char* name : {"validation.tfrecords", "train.tfrecords"}) {
    TFRecordReader reader(folder / name);
    for (std::string record; reader.next(record); ++digit) {
      const auto values = parser.parse_single(record);
      REQUIRE(values[1].item<std::int64_t>() == set.labels.data<std::uint8_t>()[digit]);
      REQUIRE(std::memcmp(set.images.data<std::uint8_t>() + digit * 784,
                          values[0].data<std::string>()->data(), 784) == 0);
    }
  }
  CHECK(digit == 60000);
}

}  // namespace
}  // namespace towerflow::data
