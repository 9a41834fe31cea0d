#include "data/cifar10_convert.h"

#include <vector>

#include "data/cifar10.h"
#include "data/example.h"
#include "data/tfrecord.h"
#include "tests/data/support.h"

namespace towerflow::data {
namespace {

using testing::ScratchFolder;
using testing::thrown;
using testing::write_raw;

/// Returns a record whose planes hold `label`, `label` + 1 and `label` + 2, but for the last byte
/// of the last plane.
std::string cifar10_record(int label) {
  std::string record(1, static_cast<char>(label));
  for (int colour = 0; colour < 3; ++colour) {
    record += std::string(1024, static_cast<char>(label + colour));
  }
  record.back() = 'e';
  return record;
}

std::vector<std::int64_t> labels_in(const std::filesystem::path& path) {
  const ExampleParser parser({{"image", {Shape{}, string}}, {"label", {Shape{}, int64}}});
  TFRecordReader reader(path);
  std::vector<std::int64_t> labels;
  while (const auto record = reader.next()) {
    const auto values = parser.parse_single(*record);
    labels.push_back(values[1].item<std::int64_t>());
    REQUIRE(values[0].data<std::string>()[0] ==
            cifar10_record(static_cast<int>(labels.back())).substr(1));
  }
  return labels;
}

TEST_CASE("convert_cifar10: four batches train, the fifth validates, the test batch evaluates") {
  ScratchFolder folder;
  for (int i = 1; i <= 5; ++i) {
    write_raw(folder / ("data_batch_" + std::to_string(i) + ".bin"),
              cifar10_record(i) + cifar10_record(0));
  }
  write_raw(folder / "test_batch.bin", cifar10_record(9));
  const auto out = folder / "made/here";
  std::vector<std::int64_t> reports;
  const Cifar10Counts counts =
      convert_cifar10(folder.path(), out, [&](std::int64_t done, std::int64_t total) {
        reports.push_back(done);
        CHECK(total == 6);
      });
  CHECK(counts.train == 8);
  CHECK(counts.validation == 2);
  CHECK(counts.eval == 1);
  CHECK(reports == std::vector<std::int64_t>{1, 2, 3, 4, 5, 6});
  CHECK(labels_in(out / "train.tfrecords") == std::vector<std::int64_t>{1, 0, 2, 0, 3, 0, 4, 0});
  CHECK(labels_in(out / "validation.tfrecords") == std::vector<std::int64_t>{5, 0});
  CHECK(labels_in(out / "eval.tfrecords") == std::vector<std::int64_t>{9});

  // A set without files is left out, and no earlier file remains that would pass for it.
  std::filesystem::remove(folder / "data_batch_5.bin");
  CHECK(convert_cifar10(folder.path(), out).validation == 0);
  CHECK_FALSE(std::filesystem::exists(out / "validation.tfrecords"));
}

TEST_CASE("convert_cifar10: missing and damaged files") {
  ScratchFolder folder;
  const auto out = folder / "out";
  const auto nothing = thrown([&] { convert_cifar10(folder.path(), out); });
  CHECK(nothing.find("NotFoundError: there is no data_batch_1.bin in") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(out));

  write_raw(folder / "data_batch_1.bin", cifar10_record(1));
  const Cifar10Counts some = convert_cifar10(folder.path(), out);
  CHECK(some.train == 1);
  CHECK(some.eval == 0);

  std::filesystem::remove_all(out);
  write_raw(folder / "test_batch.bin", "short");
  CHECK_THROWS_AS(convert_cifar10(folder.path(), out), errors::DataLossError);
  CHECK_FALSE(std::filesystem::exists(out / "train.tfrecords"));
}

}  // namespace
}  // namespace towerflow::data
