#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>

#include "core/graph/error.h"
#include "data/cifar10.h"
#include "data/compression.h"
#include "data/existing_file.h"

namespace towerflow::data {
namespace {

constexpr std::size_t kImageSide = 32, kPlane = kImageSide * kImageSide, kColours = 3;
constexpr std::size_t kImageBytes = kColours * kPlane;
constexpr std::uint64_t kMaxRecords = 1'000'000;

/// Returns the decompressed records of one file.
std::string read_records(const std::filesystem::path& path) {
  DecodingInput input(path);
  // No record begins with gzip's magic number: its first byte is not a valid label.
  if (has_gzip_magic(input.peek_stored(4))) input.set_compression(Compression::gzip);
  std::string bytes;
  constexpr std::uint64_t kMost = kMaxRecords * kCifar10RecordBytes;
  if (input.append_to(bytes, kMost + 1) > kMost) {
    throw errors::ResourceExhaustedError(
        fmt::format("{} holds more than {} records", path.string(), kMaxRecords));
  }
  if (bytes.empty() || bytes.size() % kCifar10RecordBytes != 0) {
    throw errors::DataLossError(
        fmt::format("{} holds {} bytes, which is not a multiple of the record size of {} bytes",
                    path.string(), bytes.size(), kCifar10RecordBytes),
        {.hint =
             "is this a file of CIFAR-10's binary version? data_batch_1.bin has 30730000 bytes"});
  }
  for (std::size_t at = 0; at < bytes.size(); at += kCifar10RecordBytes) {
    const unsigned label = static_cast<unsigned char>(bytes[at]);
    if (label <= 9) continue;
    throw errors::DataLossError(fmt::format("{}: label {} is {}, but labels are 0 to 9",
                                            path.string(), at / kCifar10RecordBytes, label));
  }
  return bytes;
}

/// Unpacks `records` into a set, from image `first` on.
void unpack(const std::string& records, Cifar10Set& set, std::size_t first) {
  auto* labels = set.labels.data<std::uint8_t>() + first;
  auto* pixels = set.images.data<std::uint8_t>() + first * kImageBytes;
  const auto* record = reinterpret_cast<const std::uint8_t*>(records.data());
  const auto* end = record + records.size();
  for (; record != end; record += kCifar10RecordBytes, pixels += kImageBytes) {
    *labels++ = record[0];
    for (std::size_t colour = 0; colour < kColours; ++colour) {
      const std::uint8_t* plane = record + 1 + colour * kPlane;
      for (std::size_t i = 0; i < kPlane; ++i) pixels[i * kColours + colour] = plane[i];
    }
  }
}

Cifar10Set set_of(const std::vector<std::string>& files) {
  std::size_t count = 0;
  for (const std::string& records : files) count += records.size() / kCifar10RecordBytes;
  Cifar10Set set{Array(uint8, Shape{count, kImageSide, kImageSide, kColours}),
                 Array(uint8, Shape{count})};
  std::size_t first = 0;
  for (const std::string& records : files) {
    unpack(records, set, first);
    first += records.size() / kCifar10RecordBytes;
  }
  return set;
}

constexpr const char* kCifar10Files =
    "the folder holds the files of CIFAR-10's binary version, cifar-10-batches-bin";

}  // namespace

Cifar10Set read_cifar10_file(const std::string& path) {
  return set_of(std::vector<std::string>(1, read_records(path)));
}

Cifar10Set read_cifar10_set(const std::string& folder, const std::string& name) {
  if (name != "train" && name != "test") {
    throw errors::InvalidArgumentError(
        fmt::format("CIFAR-10 has no set '{}', it has 'train' and 'test'", name));
  }
  std::vector<std::string> files;
  if (name == "test") {
    files.push_back(read_records(existing_file(folder, "test_batch.bin", kCifar10Files)));
  } else {
    for (int i = 1; i <= 5; ++i) {
      files.push_back(
          read_records(existing_file(folder, fmt::format("data_batch_{}.bin", i), kCifar10Files)));
    }
  }
  return set_of(files);
}

}  // namespace towerflow::data
