#include "data/jpeg_convert.h"

#include <algorithm>
#include <map>
#include <vector>

#include "data/example.h"
#include "data/tfrecord.h"
#include "ops/image/jpeg_codec.h"
#include "tests/data/support.h"

namespace towerflow::data {
namespace {

using testing::read_raw;
using testing::ScratchFolder;
using testing::thrown;
using testing::write_raw;
namespace fs = std::filesystem;

std::string grey_jpeg(int height, int width) {
  const std::vector<std::uint8_t> pixels(static_cast<std::size_t>(height * width), 128);
  return image::encode_jpeg_bytes(pixels.data(), {height, width, 1}, {});
}

void write_jpeg(const fs::path& path, int height = 3, int width = 5) {
  fs::create_directories(path.parent_path());
  write_raw(path, grey_jpeg(height, width));
}

/// What one record says of its image.
struct Record {
  std::string text, jpeg;
  std::int64_t label, height, width;
};

/// Returns the records of a file by the names of their images.
std::map<std::string, Record> records_in(const fs::path& path) {
  const ExampleParser parser({{"image/filename", {Shape{}, string}},
                              {"image/class/text", {Shape{}, string}},
                              {"image/encoded", {Shape{}, string}},
                              {"image/class/label", {Shape{}, int64}},
                              {"image/height", {Shape{}, int64}},
                              {"image/width", {Shape{}, int64}},
                              {"image/channels", {Shape{}, int64}},
                              {"image/colorspace", {Shape{}, string}},
                              {"image/format", {Shape{}, string}}});
  TFRecordReader reader(path);
  std::map<std::string, Record> records;
  while (const auto record = reader.next()) {
    const auto values = parser.parse_single(*record);
    const auto text = [&](std::size_t i) { return values[i].data<std::string>()[0]; };
    const auto number = [&](std::size_t i) { return values[i].item<std::int64_t>(); };
    records[text(0)] = {text(1), text(2), number(3), number(4), number(5)};
    CHECK(number(6) == 3);
    CHECK(text(7) == "RGB");
    CHECK(text(8) == "JPEG");
  }
  return records;
}

TEST_CASE("convert_jpegs: a class for each subfolder, in shards, with the labels beside") {
  const ScratchFolder folder;
  const fs::path train = folder / "train", validation = folder / "validation", out = folder / "out";
  for (const char* name : {"tulips/a.jpg", "tulips/b.jpg", "roses/c.jpeg", "roses/d"}) {
    write_jpeg(train / name, 7, 9);
  }
  write_jpeg(train / "roses/e.jpg", 20, 10);
  write_raw(train / "roses/.hidden", "no image");
  write_raw(train / "README", "of no label");
  write_jpeg(validation / "tulips/v.jpg");
  std::vector<std::int64_t> reports;
  const JpegConvertOptions options{.validation_dir = validation,
                                   .validation_shards = 3,
                                   .progress = [&](std::int64_t done, std::int64_t total) {
                                     reports.push_back(done);
                                     CHECK(total == 6);
                                   }};
  const JpegCounts counts = convert_jpegs(train, out, options);
  CHECK(counts.train == 5);
  CHECK(counts.validation == 1);
  CHECK(counts.labels == 2);
  CHECK(reports == std::vector<std::int64_t>{1, 2, 3, 4, 5, 6});
  CHECK(read_raw(out / "labels.txt") == "roses\ntulips\n");
  // One image makes one shard.
  CHECK(records_in(out / "validation-00000-of-00001").at("v.jpg").label == 2);

  auto records = records_in(out / "train-00000-of-00002");
  CHECK(records.size() == 2);
  records.merge(records_in(out / "train-00001-of-00002"));
  REQUIRE(records.size() == 5);
  const Record& e = records.at("e.jpg");
  CHECK(e.label == 1);
  CHECK(e.text == "roses");
  CHECK(e.height == 20);
  CHECK(e.width == 10);
  CHECK(e.jpeg == grey_jpeg(20, 10));
  CHECK(records.at("a.jpg").label == 2);
  CHECK(records.at("d").label == 1);

  // Equal bytes each time, and no earlier file remains that would pass for one of another number.
  const std::string first = read_raw(out / "train-00000-of-00002");
  convert_jpegs(train, out, options);
  CHECK(read_raw(out / "train-00000-of-00002") == first);
  convert_jpegs(train, out, {.train_shards = 1});
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(out)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  CHECK(names == std::vector<std::string>{"labels.txt", "train-00000-of-00001"});
}

TEST_CASE("convert_jpegs: the images are shuffled") {
  const ScratchFolder folder;
  for (int i = 0; i < 20; ++i) {
    write_jpeg(folder / ("in/" + std::string(i < 10 ? "a" : "b") + "/" + std::to_string(i)));
  }
  convert_jpegs(folder / "in", folder / "out", {});
  int of_a = 0;
  for (const auto& [name, record] : records_in(folder / "out/train-00000-of-00002")) {
    of_a += record.label == 1 ? 1 : 0;
  }
  CHECK(of_a > 0);
  CHECK(of_a < 10);
}

TEST_CASE("convert_jpegs: a labels file decides the numbers and leaves out other folders") {
  const ScratchFolder folder;
  for (const char* name : {"in/a/1.jpg", "in/b/2.jpg", "in/c/3.jpg"}) write_jpeg(folder / name);
  write_raw(folder / "labels", "c\r\na\n\n");
  const JpegCounts counts =
      convert_jpegs(folder / "in", folder / "out",
                    {.validation_dir = folder / "in", .labels_file = folder / "labels"});
  CHECK(counts.train == 2);
  CHECK(counts.validation == 2);
  CHECK(read_raw(folder / "out/labels.txt") == "c\na\n");
  auto records = records_in(folder / "out/train-00000-of-00002");
  records.merge(records_in(folder / "out/train-00001-of-00002"));
  CHECK(records.at("3.jpg").label == 1);
  CHECK(records.at("1.jpg").label == 2);

  const auto with_labels = [&](const std::string& text) {
    write_raw(folder / "labels", text);
    return thrown([&] {
      convert_jpegs(folder / "in", folder / "other", {.labels_file = folder / "labels"});
    });
  };
  CHECK(with_labels("") ==
        "NotFoundError: there is no label in '" + (folder / "labels").string() + "'");
  CHECK(with_labels("a\na\n").find("lists the label 'a' twice") != std::string::npos);
  CHECK(with_labels("a\nd\n") ==
        "NotFoundError: there is no folder '" + (folder / "in/d").string() + "' for the label 'd'");
  CHECK(with_labels("../in\n").find("InvalidArgumentError: the label '../in' is no name") == 0);
  CHECK_FALSE(fs::exists(folder / "other"));
}

TEST_CASE("convert_jpegs: what is no JPEG is an error with its name, and nothing is written") {
  const ScratchFolder folder;
  const fs::path in = folder / "in", out = folder / "out";
  CHECK(thrown([&] { convert_jpegs(in, out); }).find("NotFoundError: ") == 0);
  fs::create_directories(in);
  CHECK(thrown([&] { convert_jpegs(in, out); }) ==
        "NotFoundError: there is no label in '" + in.string() + "'");
  fs::create_directories(in / "a");
  CHECK(thrown([&] { convert_jpegs(in, out); }) ==
        "NotFoundError: there is no image in '" + in.string() + "'");
  CHECK_FALSE(fs::exists(out));

  write_jpeg(in / "a/good.jpg");
  convert_jpegs(in, out);
  const std::string before = read_raw(out / "train-00000-of-00001");
  const std::string whole = grey_jpeg(40, 40);
  const fs::path bad = in / "a/bad.jpg";
  for (const std::string& bytes : {std::string(), std::string("no image"), whole.substr(0, 30),
                                   whole.substr(0, whole.size() / 2)}) {
    CAPTURE(bytes.size());
    write_raw(bad, bytes);
    CHECK(thrown([&] {
            convert_jpegs(in, out);
          }).find("InvalidArgumentError: " + bad.string() + ": ") == 0);
    CHECK(read_raw(out / "train-00000-of-00001") == before);
  }
  fs::remove(bad);
  fs::create_directories(in / "a/folder");
  CHECK(thrown([&] { convert_jpegs(in, out); }).find((in / "a/folder").string()) !=
        std::string::npos);
  fs::remove(in / "a/folder");
  write_jpeg(folder / "validation/b/1.jpg");
  CHECK(thrown([&] { convert_jpegs(in, out, {.validation_dir = folder / "validation"}); }) ==
        "InvalidArgumentError: the label of '" + (folder / "validation/b").string() +
            "' is none of the training images'");
  CHECK(thrown([&] { convert_jpegs(in, out, {.train_shards = 0}); }) ==
        "InvalidArgumentError: a set needs at least one file");
}

}  // namespace
}  // namespace towerflow::data
