#include "data/idx.h"

#include <fmt/format.h>

#include "data/compression.h"
#include "data/idx_summary.h"
#include "tests/data/support.h"

namespace towerflow::data {
namespace {

using testing::big_endian;
using testing::ScratchFolder;
using testing::thrown;
using testing::write_raw;

std::string idx(std::uint32_t magic, const std::vector<std::uint32_t>& sizes,
                const std::string& data) {
  std::string bytes = big_endian(magic);
  for (const std::uint32_t size : sizes) bytes += big_endian(size);
  return bytes + data;
}

void write_gzip(const std::filesystem::path& path, const std::string& bytes) {
  EncodingFile file(path, Compression::gzip);
  file.append(bytes);
  file.commit();
}

TEST_CASE("idx: plain and gzip, every element type") {
  ScratchFolder folder;
  const auto path = folder / "f";
  const auto read = [&](const std::string& bytes) {
    write_raw(path, bytes);
    const Array plain = read_idx(path);
    write_gzip(path, bytes);
    CHECK(read_idx(path) == plain);
    return plain;
  };
  CHECK(read(idx(0x803, {2, 1, 2}, "\1\2\3\xff")) ==
        Array::of<std::uint8_t>(Shape{2, 1, 2}, std::vector<std::uint8_t>{1, 2, 3, 255}));
  CHECK(read(idx(0x901, {2}, "\x7f\x80")) ==
        Array::of<std::int8_t>(Shape{2}, std::vector<std::int8_t>{127, -128}));
  CHECK(read(idx(0xb01, {2}, std::string("\x01\x02\xff\xfe", 4))) ==
        Array::of<std::int16_t>(Shape{2}, std::vector<std::int16_t>{258, -2}));
  CHECK(read(idx(0xc01, {2}, big_endian(7) + big_endian(0x80000000U))) ==
        Array::of<std::int32_t>(Shape{2}, std::vector<std::int32_t>{7, INT32_MIN}));
  CHECK(read(idx(0xd02, {1, 2}, big_endian(0x3fc00000U) + big_endian(0xc0000000U))) ==
        Array::of<float>(Shape{1, 2}, std::vector<float>{1.5F, -2.0F}));
  CHECK(read(idx(0xe01, {1}, big_endian(0x3ff80000U) + big_endian(0))) ==
        Array::of<double>(Shape{1}, std::vector<double>{1.5}));
  CHECK(read(idx(0x801, {0}, "")).shape() == Shape{0});
  CHECK(read(idx(0x802, {0, 28}, "")).shape() == Shape{0, 28});
}

TEST_CASE("idx: cut at every byte, plain and gzip; bytes behind the end") {
  ScratchFolder folder;
  const auto path = folder / "f";
  const std::string whole = idx(0x802, {2, 3}, "abcdef");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    CAPTURE(length);
    write_raw(path, whole.substr(0, length));
    CHECK_THROWS_AS(read_idx(path), errors::DataLossError);
    write_gzip(path, whole.substr(0, length));
    CHECK_THROWS_AS(read_idx(path), errors::DataLossError);
  }
  write_gzip(path, whole);
  const std::string packed = testing::read_raw(path);
  for (std::size_t length = 0; length < packed.size(); ++length) {
    CAPTURE(length);
    write_raw(path, packed.substr(0, length));
    CHECK_THROWS_AS(read_idx(path), errors::DataLossError);
  }
  const std::string name = path.string();
  write_raw(path, whole.substr(0, 3));
  CHECK(thrown([&] { read_idx(path); }) ==
        "DataLossError: " + name + " ends inside its magic number, after 3 bytes");
  write_raw(path, whole.substr(0, 10));
  CHECK(thrown([&] { read_idx(path); }) ==
        "DataLossError: " + name + " ends inside its sizes, after 10 bytes");
  write_raw(path, whole.substr(0, 14));
  CHECK(thrown([&] { read_idx(path); }) ==
        "DataLossError: " + name + " holds 2 bytes of data, but its header says 6 (2, 3)");
  write_raw(path, whole + "g");
  CHECK(thrown([&] { read_idx(path); }) ==
        "DataLossError: " + name + " holds 7 bytes of data, but its header says 6 (2, 3)");
  write_gzip(path, whole + "gh");
  CHECK(thrown([&] { read_idx(path); }) ==
        "DataLossError: " + name +
            " holds more than 6 bytes of data, but its header says 6 (2, 3)");
}

TEST_CASE("idx: bad magic numbers and hostile sizes") {
  ScratchFolder folder;
  const auto path = folder / "f";
  for (const std::uint32_t magic : {0x00000a01U, 0x00000800U, 0x00010801U, 0x01080000U, 0U}) {
    write_raw(path, idx(magic, {1}, "x"));
    CHECK(thrown([&] { read_idx(path); }) ==
          fmt::format("DataLossError: {} is not an IDX file: its magic number is {:#010x}",
                      path.string(), magic));
  }
  constexpr std::uint32_t kLargest = 0xffffffffU;
  write_raw(path, idx(0x803, {kLargest, kLargest, kLargest}, "x"));
  CHECK(thrown([&] { read_idx(path); }) ==
        "DataLossError: " + path.string() +
            ": the sizes in its header give more bytes than a file can hold");
  for (const auto& sizes : {std::vector<std::uint32_t>{kLargest, 0x7fffffffU},
                            std::vector<std::uint32_t>{kLargest, 1}}) {
    // The header claims more data than fits in memory; the file has one byte.
    const std::string bytes = idx(0x802, sizes, "x");
    write_raw(path, bytes);
    CHECK(thrown([&] { read_idx(path); }).find(" holds 1 bytes of data") != std::string::npos);
    write_gzip(path, bytes);
    CHECK(thrown([&] { read_idx(path); }).find(" holds 1 bytes of data") != std::string::npos);
  }
  write_raw(path, big_endian(0x8ffU));  // 255 dimensions, no sizes
  CHECK(thrown([&] { read_idx(path); }) ==
        "DataLossError: " + path.string() + " ends inside its sizes, after 4 bytes");
}

TEST_CASE("idx: a summary says what the array holds, in pieces") {
  ScratchFolder folder;
  const auto path = folder / "f";
  std::string numbers;  // larger than one piece
  for (std::uint32_t i = 0; i < 50000; ++i) numbers += big_endian(i - 7);
  const std::string whole = idx(0xc02, {2, 25000}, numbers);
  std::vector<std::uint64_t> reports;
  const auto progress = [&](std::uint64_t done, std::uint64_t total) {
    CHECK(total == 200000);
    reports.push_back(done);
  };
  write_raw(path, whole);
  const IdxSummary plain = summarize_idx(path, progress);
  write_gzip(path, whole);
  const IdxSummary packed = summarize_idx(path, progress);
  CHECK(reports ==
        std::vector<std::uint64_t>{65536, 131072, 196608, 200000, 65536, 131072, 196608, 200000});
  CHECK((plain.compression == Compression::none && packed.compression == Compression::gzip));
  for (const IdxSummary& summary : {plain, packed}) {
    CHECK(summary.dtype == int32);
    CHECK(summary.shape == Shape{2, 25000});
    CHECK(summary.values.count() == 50000);
    CHECK((summary.values.min() == -7 && summary.values.max() == 49992));
    CHECK(summary.values.mean() == doctest::Approx(24992.5));
  }
  write_raw(path, idx(0x801, {6}, std::string("\3\0\3\xff\3\0", 6)));
  const IdxSummary labels = summarize_idx(path);
  CHECK((labels.counts[0] == 2 && labels.counts[3] == 3 && labels.counts[255] == 1));
  CHECK(labels.values.max() == 255);
  write_raw(path, idx(0x802, {0, 28}, ""));
  CHECK(summarize_idx(path).values.count() == 0);
}

TEST_CASE("idx: a summary of a damaged file is the array's error") {
  ScratchFolder folder;
  const auto path = folder / "f";
  const std::string whole = idx(0x802, {2, 3}, "abcdef");
  const auto same = [&] {
    const std::string error = thrown([&] { read_idx(path); });
    CHECK(error != "nothing");
    CHECK(thrown([&] { summarize_idx(path); }) == error);
  };
  for (std::size_t length = 0; length < whole.size(); ++length) {
    CAPTURE(length);
    write_raw(path, whole.substr(0, length));
    same();
    write_gzip(path, whole.substr(0, length));
    same();
  }
  write_raw(path, whole + "g");
  same();
  write_gzip(path, whole + "g");
  same();
  // A small file that claims far more data than fits in memory.
  write_gzip(path, idx(0x802, {0x10000, 0x7fffffff}, std::string(100000, 'x')));
  CHECK(thrown([&] { summarize_idx(path); }).find(" holds 100000 bytes of data") !=
        std::string::npos);
}

TEST_CASE("idx: an MNIST set that is not one") {
  ScratchFolder folder;
  const auto images = folder / "train-images-idx3-ubyte",
             labels = folder / "train-labels-idx1-ubyte";
  const auto read = [&] { return thrown([&] { read_mnist_set(folder.path(), "train"); }); };
  CHECK(read() == "NotFoundError: no train-images-idx3-ubyte or train-images-idx3-ubyte.gz in " +
                      folder.path().string());
  write_raw(images, idx(0x803, {2, 28, 28}, std::string(2 * 784, '\7')));
  CHECK(read() == "NotFoundError: no train-labels-idx1-ubyte or train-labels-idx1-ubyte.gz in " +
                      folder.path().string());
  write_raw(labels, idx(0x801, {3}, "\1\2\3"));
  CHECK(read() == "InvalidArgumentError: " + images.string() + " holds 2 images, " +
                      labels.string() + " holds 3 labels");
  write_raw(labels, idx(0x801, {2}, "\1\x0a"));
  CHECK(read() ==
        "InvalidArgumentError: " + labels.string() + ": label 1 is 10, but labels are 0 to 9");
  write_raw(labels, idx(0x802, {1, 2}, "\1\2"));
  CHECK(read() == "InvalidArgumentError: " + labels.string() +
                      " holds uint8 (1, 2), but should hold uint8 labels in one dimension");
  write_raw(labels, idx(0x801, {2}, "\1\2"));
  CHECK(read() == "nothing");
  write_raw(images, idx(0x803, {2, 28, 27}, std::string(2 * 28 * 27, '\7')));
  CHECK(read() == "InvalidArgumentError: " + images.string() +
                      " holds uint8 (2, 28, 27), but should hold uint8 images of 28 by 28");
  write_raw(images, idx(0x801, {2}, "\1\2"));  // labels instead of images
  CHECK(read() == "InvalidArgumentError: " + images.string() +
                      " holds uint8 (2,), but should hold uint8 images of 28 by 28");
}

TEST_CASE("idx: the real MNIST [real data]") {
  const auto folder = testing::real_data("mnist");
  CHECK(true);  // real_data() reports missing data
  if (!folder) return;
  const MnistSet train = read_mnist_set(*folder, "train"), test = read_mnist_set(*folder, "t10k");
  CHECK(train.images.shape() == Shape{60000, 28, 28});
  CHECK(test.images.shape() == Shape{10000, 28, 28});
  const auto sum = [](const Array& array) {
    std::uint64_t total = 0;
    for (const std::uint8_t pixel : array.flat<std::uint8_t>()) total += pixel;
    return total;
  };
  CHECK(sum(train.images) == 1567298545);
  CHECK(sum(test.images) == 264923200);
  const std::uint8_t* labels = train.labels.data<std::uint8_t>();
  CHECK(std::vector<int>(labels, labels + 10) == std::vector<int>{5, 0, 4, 1, 9, 2, 1, 3, 1, 4});
}

}  // namespace
}  // namespace towerflow::data
