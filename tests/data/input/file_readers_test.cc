// Readers of fixed-length records, lines and whole files. The expected records and keys are
// TensorFlow 2.21's.
#include "data/file_readers.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <functional>

#include "core/graph/scopes.h"
#include "data/cifar10.h"
#include "ops/image/decode_image.h"
#include "ops/variables/initialization.h"
#include "tests/data/input/support.h"
#include "train/input/batch.h"
#include "train/input/input_producer.h"
#include "train/queue_runner.h"

using namespace towerflow;
using namespace towerflow::testing;

namespace {

using Make = std::function<ReaderBase()>;

/// Returns all records of a reader for files with these contents, as
/// "number of the file[:position]=value".
std::vector<std::string> read(const Make& make, const std::vector<std::string>& contents) {
  const ScratchFolder folder;
  Graph graph;
  const auto as_default = graph.as_default();
  std::vector<std::string> files;
  for (const std::string& content : contents) {
    files.push_back((folder / std::to_string(files.size())).string());
    write_raw(files.back(), content);
  }
  const FIFOQueue names(32, {string}, {.shapes = {{}}});
  const KeyValue record = make().read(names);
  Session session;
  session.run(names.enqueue_many({Operand(files)}));
  session.run(names.close());
  std::vector<std::string> seen;
  try {
    while (seen.size() < 100) {
      const auto [key, value] = session.run({record.key, record.value});
      const std::string prefix = folder.path().string() + "/";
      REQUIRE(key.item<std::string>().starts_with(prefix));
      seen.push_back(key.item<std::string>().substr(prefix.size()) + "=" +
                     value.item<std::string>());
    }
  } catch (const errors::OutOfRangeError&) {
  }
  return seen;
}

Make fixed(std::int64_t bytes, const FixedLengthRecordReaderOptions& options = {}) {
  return [=] { return FixedLengthRecordReader(bytes, options); };
}

/// Returns the contents of a compressed file with `bytes`.
std::string packed(const std::string& bytes, data::Compression compression) {
  const ScratchFolder folder;
  data::EncodingFile file(folder / "f", compression);
  file.append(bytes);
  file.commit();
  return read_raw(folder / "f");
}

}  // namespace

TEST_CASE("records of one length") {
  using Seen = std::vector<std::string>;
  CHECK(read(fixed(3), {"abcdef", "", "ghi"}) == Seen{"0:0=abc", "0:1=def", "2:0=ghi"});
  CHECK(read(fixed(3), {"abcdefg", "hijk"}) == Seen{"0:0=abc", "0:1=def", "1:0=hij"});
  CHECK(read(fixed(3, {.header_bytes = 1, .footer_bytes = 1}),
             {"HabcdefF", "H", "HF", "HghiF", "HghijF"}) ==
        Seen{"0:0=abc", "0:1=def", "3:0=ghi", "4:0=ghi"});
  CHECK(read(fixed(3, {.hop_bytes = 1}), {"abcdef"}) ==
        Seen{"0:0=abc", "0:1=bcd", "0:2=cde", "0:3=def"});
  CHECK(read(fixed(3, {.hop_bytes = 5}), {"abcdefghijk"}) == Seen{"0:0=abc", "0:1=fgh"});
  CHECK(read(fixed(3, {.header_bytes = 1, .footer_bytes = 1, .hop_bytes = 5}),
             {"HabcdefghF", "HabcxxdefF"}) == Seen{"0:0=abc", "0:1=fgh", "1:0=abc", "1:1=def"});
  CHECK(read(fixed(3, {.hop_bytes = 10000}), {std::string(10003, 'x')}) ==
        Seen{"0:0=xxx", "0:1=xxx"});
}

TEST_CASE("records of one length in packed files") {
  using Seen = std::vector<std::string>;
  const auto zlib = [](const std::string& bytes) { return packed(bytes, data::Compression::zlib); };
  CHECK(read(fixed(3, {.encoding = "ZLIB"}), {zlib("abcdefg")}) == Seen{"0:0=abc", "0:1=def"});
  CHECK(read(fixed(3, {.encoding = "GZIP"}), {packed("abcdef", data::Compression::gzip)}) ==
        Seen{"0:0=abc", "0:1=def"});
  CHECK(read(fixed(3, {.header_bytes = 1, .footer_bytes = 1, .hop_bytes = 2, .encoding = "ZLIB"}),
             {zlib("HabcdefgF")}) == Seen{"0:0=abc", "0:1=cde", "0:2=efg"});
  CHECK_THROWS_AS(read(fixed(3, {.encoding = "ZLIB"}), {"abcdef"}), errors::DataLossError);
}

TEST_CASE("lines and whole files") {
  using Seen = std::vector<std::string>;
  const Make lines = [] { return TextLineReader(); };
  CHECK(read(lines, {"abc\n\ndef\r\ng\rh", "", "def\n", "\n"}) ==
        Seen{"0:1=abc", "0:2=", "0:3=def", "0:4=g\rh", "2:1=def", "3:1="});
  const Make skipping = [] { return TextLineReader({.skip_header_lines = 1}); };
  CHECK(read(skipping, {"abc\n\ndef\r\ng\rh", "", "def\n", "x\ny\n"}) ==
        Seen{"0:2=", "0:3=def", "0:4=g\rh", "3:2=y"});
  const std::string wide(200000, 'w');  // longer than what is read at once
  CHECK(read(lines, {wide + "\n" + wide}) == Seen{"0:1=" + wide, "0:2=" + wide});
  const Make whole = [] { return WholeFileReader(); };
  CHECK(read(whole, {"abc", "", "de\nf"}) == Seen{"0=abc", "1=", "2=de\nf"});
}

TEST_CASE("an error of a picture names its file") {
  const ScratchFolder folder;
  Graph graph;
  const auto as_default = graph.as_default();
  const std::string file = (folder / "broken.jpg").string();
  const std::string animation = (folder / "animation.gif").string();
  write_raw(file, "\xFF\xD8\xFF\xE0 and no more");
  write_raw(animation, "GIF89a and no more");
  const FIFOQueue names(32, {string}, {.shapes = {{}}});
  const KeyValue record = WholeFileReader().read(names);
  const Tensor picture = image::decode_image(record.value);
  const Tensor size = image::extract_jpeg_shape(record.value);
  Session session;
  session.run(names.enqueue_many({Operand(std::vector<std::string>{file, animation, file})}));
  const auto hint = [&](const Tensor& of) {
    try {
      session.run(of);
    } catch (const errors::OpError& error) {
      return error.detail().hint;
    }
    return std::string();
  };
  CHECK(hint(picture).find("read from '" + file + "'") != std::string::npos);
  CHECK(hint(picture).find("; read from '" + animation + "'") != std::string::npos);
  CHECK(hint(size).find("read from '" + file + "'") != std::string::npos);
}

TEST_CASE("readers' nodes, and what they refuse") {
  Graph graph;
  const auto as_default = graph.as_default();
  const FixedLengthRecordReader records(3);
  CHECK(records.reader_ref().name() == "FixedLengthRecordReaderV2:0");
  const TextLineReader lines;
  CHECK(lines.reader_ref().op().type() == "TextLineReaderV2");
  const WholeFileReader whole({.name = "files"});
  CHECK(whole.reader_ref().name() == "files:0");
  CHECK(whole.reader_ref().op().type() == "WholeFileReaderV2");
  const auto refused = [](std::int64_t bytes, FixedLengthRecordReaderOptions options) {
    return thrown([&] { FixedLengthRecordReader(bytes, std::move(options)); });
  };
  CHECK(refused(3, {.header_bytes = -1}) == "ValueError: header_bytes must be >= 0 not -1");
  CHECK(refused(3, {.footer_bytes = -1}) == "ValueError: footer_bytes must be >= 0 not -1");
  CHECK(refused(3, {.hop_bytes = -1}) == "ValueError: hop_bytes must be >= 0 not -1");
  CHECK(refused(0, {}).starts_with("ValueError: record_bytes must be in [1,"));
  CHECK(refused(std::int64_t{1} << 40, {}).starts_with("ValueError: record_bytes must be in [1,"));
  CHECK(refused(3, {.encoding = "X"}) == "ValueError: unknown encoding 'X'");
  CHECK(thrown([] { TextLineReader({.skip_header_lines = -1}); }) ==
        "ValueError: skip_header_lines must be >= 0 not -1");
}

TEST_CASE("CIFAR-10's files through a reader and several threads") {
  const ScratchFolder folder;
  std::vector<std::string> files;
  for (int file = 0; file < 3; ++file) {
    std::string bytes;
    for (int i = 0; i < 20; ++i) {
      const char pixel = static_cast<char>(20 * file + i);
      bytes += static_cast<char>(i % 10) + std::string(1024, pixel);
      bytes += std::string(1024, static_cast<char>(pixel + 1));
      bytes += std::string(1024, static_cast<char>(pixel + 2));
    }
    files.push_back((folder / fmt::format("data_batch_{}.bin", file + 1)).string());
    write_raw(files.back(), bytes);
  }
  for (const int threads : {1, 4}) {
    Graph graph;
    const auto as_default = graph.as_default();
    const FIFOQueue names =
        train::string_input_producer(files, {.num_epochs = 1, .shuffle = false});
    const Cifar10Example example = read_cifar10(names);
    CHECK(example.image.shape() == Shape{32, 32, 3});
    CHECK(example.label.shape() == Shape{1});
    const auto [images, labels] =
        train::batch({example.image, example.label}, {.batch_size = 30, .num_threads = threads});
    Session session;
    session.run(local_variables_initializer());
    train::Coordinator coord;
    const auto runners = train::start_queue_runners(session, {.coord = &coord});
    for (int batch = 0; batch < 2; ++batch) {
      const auto [pixels, numbers] = session.run({images, labels});
      REQUIRE(pixels.shape() == Shape{30, 32, 32, 3});
      for (int i = 0; i < 30; ++i) {
        const int number = 30 * batch + i;
        CHECK(numbers.data<std::int32_t>()[i] == number % 20 % 10);
        for (int colour = 0; colour < 3; ++colour) {
          CHECK(pixels.data<std::uint8_t>()[(i * 1024 + 500) * 3 + colour] == number + colour);
        }
      }
    }
    CHECK_THROWS_AS(session.run(images), errors::OutOfRangeError);
    coord.request_stop();
    coord.join(runners);
  }
}
