#include "data/mnist_convert.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "data/example.h"
#include "data/file.h"
#include "data/idx.h"

namespace towerflow::data {
namespace {

constexpr std::int64_t kDigitSide = 28;
constexpr std::int64_t kPixels = kDigitSide * kDigitSide;
/// Digits between two calls of the progress function.
constexpr std::int64_t kDigitsPerReport = 500;

const char* extension(Compression compression) {
  switch (compression) {
    case Compression::none:
      return "";
    case Compression::gzip:
      return ".gz";
    case Compression::zlib:
      return ".zlib";
  }
  return "";
}

std::filesystem::path file_of(const std::filesystem::path& folder, const std::string& set,
                              Compression compression) {
  return folder / (set + ".tfrecords" + extension(compression));
}

std::int64_t limited(std::int64_t count, const std::optional<std::int64_t>& limit) {
  return limit ? std::min(count, *limit) : count;
}

void check_options(const MnistConvertOptions& options) {
  const auto check = [](std::int64_t value, const char* what) {
    if (value < 0)
      throw errors::InvalidArgumentError(
          fmt::format("{} must not be negative, got {}", what, value));
  };
  check(options.validation_size, "the size of the validation set");
  check(options.max_train.value_or(0), "the number of training digits");
  check(options.max_validation.value_or(0), "the number of validation digits");
  check(options.max_test.value_or(0), "the number of test digits");
}

// One output file, or none if the set gets no digits.
class Output {
 public:
  Output(const std::filesystem::path& folder, const std::string& name, std::int64_t count,
         const MnistConvertOptions& options)
      : count_(count), with_geometry_(options.with_geometry) {
    for (const auto kind : {Compression::none, Compression::gzip, Compression::zlib}) {
      if (count == 0 || kind != options.compression) stale_.push_back(file_of(folder, name, kind));
    }
    if (count > 0)
      writer_.emplace(file_of(folder, name, options.compression),
                      TFRecordWriteOptions{options.compression, options.level});
  }

  /// Calls `report()` after each digit.
  template <class F>
  void write(const MnistSet& set, std::int64_t first, F&& report) {
    const auto* pixels = reinterpret_cast<const char*>(set.images.data<std::uint8_t>());
    const std::uint8_t* labels = set.labels.data<std::uint8_t>();
    for (std::int64_t i = first; i < first + count_; ++i) {
      builder_.bytes("image_raw", {pixels + i * kPixels, static_cast<std::size_t>(kPixels)});
      builder_.int64("label", labels[i]);
      if (with_geometry_)
        builder_.int64("height", kDigitSide).int64("width", kDigitSide).int64("depth", 1);
      writer_->write(builder_.serialize());
      report();
    }
  }
  void close() {
    if (writer_) writer_->close();
  }
  /// Deletes files of the set from an earlier conversion, which a reader would take for this one's.
  void remove_stale() const {
    for (const auto& path : stale_) delete_file(path);
  }

 private:
  std::int64_t count_;
  bool with_geometry_;
  ExampleBuilder builder_;
  std::optional<TFRecordWriter> writer_;
  std::vector<std::filesystem::path> stale_;  // file names of the set that are not written now
};

}  // namespace

MnistCounts convert_mnist(const std::filesystem::path& idx_dir,
                          const std::filesystem::path& out_dir,
                          const MnistConvertOptions& options) {
  check_options(options);
  const MnistSet train = read_mnist_set(idx_dir, "train");
  const MnistSet test = read_mnist_set(idx_dir, "t10k");
  const std::int64_t digits = train.images.shape().size(0);
  if (options.validation_size > digits)
    throw errors::InvalidArgumentError(
        fmt::format("a validation set of {} digits does not fit into the {} of the training set",
                    options.validation_size, digits));
  make_folder(out_dir);
  const MnistCounts counts{limited(digits - options.validation_size, options.max_train),
                           limited(options.validation_size, options.max_validation),
                           limited(test.images.shape().size(0), options.max_test)};
  Output train_file(out_dir, "train", counts.train, options);
  Output validation_file(out_dir, "validation", counts.validation, options);
  Output test_file(out_dir, "test", counts.test, options);
  std::int64_t done = 0;
  const std::int64_t total = counts.train + counts.validation + counts.test;
  const auto report = [&] {
    ++done;
    const bool wanted = done % kDigitsPerReport == 0 || done == total;
    if (wanted && options.progress) options.progress(done, total);
  };
  train_file.write(train, options.validation_size, report);
  validation_file.write(train, 0, report);
  test_file.write(test, 0, report);
  const std::array outputs{&train_file, &validation_file, &test_file};
  for (Output* output : outputs) output->close();
  for (const Output* output : outputs) output->remove_stale();
  return counts;
}

}  // namespace towerflow::data
