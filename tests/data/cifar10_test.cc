// CIFAR-10's binary files: images and labels, and files that are invalid.
#include "data/cifar10.h"

#include <doctest/doctest.h>

#include "data/compression.h"
#include "tests/data/support.h"

using namespace towerflow;
using namespace towerflow::testing;

namespace {

/// Returns a record whose pixel values depend on colour, row and column.
std::string record(int label, int shift = 0) {
  std::string bytes(1, static_cast<char>(label));
  for (int colour = 0; colour < 3; ++colour) {
    for (int row = 0; row < 32; ++row) {
      for (int column = 0; column < 32; ++column) {
        bytes += static_cast<char>(64 * colour + 5 * row + column + shift);
      }
    }
  }
  return bytes;
}

}  // namespace

TEST_CASE("records become pictures with their colours side by side") {
  const ScratchFolder folder;
  write_raw(folder / "batch.bin", record(3) + record(9, 7));
  const data::Cifar10Set set = data::read_cifar10_file(folder / "batch.bin");
  CHECK(set.images.dtype() == uint8);
  REQUIRE(set.images.shape() == Shape{2, 32, 32, 3});
  REQUIRE(set.labels.shape() == Shape{2});
  CHECK(set.labels.data<std::uint8_t>()[0] == 3);
  CHECK(set.labels.data<std::uint8_t>()[1] == 9);
  const auto* pixels = set.images.data<std::uint8_t>();
  int wrong = 0;
  for (int i = 0; i < 2; ++i) {
    for (int row = 0; row < 32; ++row) {
      for (int column = 0; column < 32; ++column) {
        for (int colour = 0; colour < 3; ++colour) {
          const int expected = (64 * colour + 5 * row + column + 7 * i) & 255;
          wrong += pixels[((i * 32 + row) * 32 + column) * 3 + colour] != expected ? 1 : 0;
        }
      }
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("a set is its files one after another, plain or packed") {
  const ScratchFolder folder;
  for (int i = 1; i <= 5; ++i) {
    const std::string name = "data_batch_" + std::to_string(i) + ".bin";
    if (i % 2 == 0) {
      data::EncodingFile packed(folder / (name + ".gz"), data::Compression::gzip);
      packed.append(record(i));
      packed.append(record(i - 1));
      packed.commit();
    } else {
      write_raw(folder / name, record(i) + record(i - 1));
    }
  }
  const data::Cifar10Set train = data::read_cifar10_set(folder.path(), "train");
  const auto labels = train.labels.flat<std::uint8_t>();
  CHECK(std::vector<int>(labels.begin(), labels.end()) ==
        std::vector<int>{1, 0, 2, 1, 3, 2, 4, 3, 5, 4});
  CHECK(thrown([&] {
          data::read_cifar10_set(folder.path(), "test");
        }).starts_with("NotFoundError: no test_batch.bin or test_batch.bin.gz"));
  CHECK(thrown([&] {
          data::read_cifar10_set(folder.path(), "valid");
        }).starts_with("InvalidArgumentError: CIFAR-10 has no set 'valid'"));
  write_raw(folder / "test_batch.bin", record(0));
  CHECK(data::read_cifar10_set(folder.path(), "test").labels.shape() == Shape{1});
}

TEST_CASE("files that are no CIFAR-10 are refused with their names and figures") {
  const ScratchFolder folder;
  const auto error_of = [&](const std::string& bytes) {
    write_raw(folder / "f", bytes);
    return thrown([&] { data::read_cifar10_file(folder / "f"); });
  };
  const std::string path = (folder / "f").string();
  CHECK(error_of("") ==
        "DataLossError: " + path +
            " holds 0 bytes, which is not a multiple of the record size of 3073 bytes");
  CHECK(error_of(record(1) + "x") ==
        "DataLossError: " + path +
            " holds 3074 bytes, which is not a multiple of the record size of 3073 bytes");
  CHECK(error_of(record(1).substr(1)).starts_with("DataLossError: "));
  CHECK(error_of(record(1) + record(10)) ==
        "DataLossError: " + path + ": label 1 is 10, but labels are 0 to 9");
  CHECK(error_of("\x1f\x8b\x08 and then nothing that gzip knows").starts_with("DataLossError: "));
  CHECK(thrown([&] { data::read_cifar10_file(folder / "absent"); }).starts_with("NotFoundError: "));
}
