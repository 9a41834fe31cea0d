// TFRecord files and the other record formats.
#include "data/tfrecord.h"

#include <cstdint>

#include "data/record_file.h"
#include "data/record_summary.h"
#include "tests/fuzz/records.h"
#include "tests/fuzz/scratch.h"
#include "tests/fuzz/target.h"

namespace towerflow::fuzz {
namespace {

using data::Compression;

struct Reading {
  std::uint64_t records = 0;
  bool whole = false;
  Compression compression = Compression::none;
};

Reading read_all(const std::filesystem::path& path, std::optional<Compression> compression) {
  Reading reading;
  data::TFRecordReader reader(path, {.compression = compression});
  std::string record;
  const auto next = [&] { return reader.next(record); };
  reading.whole = succeeds([&] {
    while (next()) {
    }
  });
  reading.records = reader.records_read();
  reading.compression = reader.compression();
  require(succeeds([&] { next(); }) == reading.whole, "an error comes again with every call");
  return reading;
}

void compare_with_skipping(const std::filesystem::path& path, const Reading& reading) {
  data::TFRecordReader reader(path, {.compression = reading.compression});
  require(succeeds([&] { reader.skip(UINT64_MAX); }) == reading.whole &&
              reader.records_read() == reading.records,
          "skipping checks as reading does");
  const data::RecordSummary summary = data::summarize_records(path, reading.compression);
  require(summary.records == reading.records && summary.damage.has_value() == !reading.whole,
          "a summary sees the same records");
  require(summary.examples <= summary.records, "an Example is a record");
}

void read_as(const data::RecordFormat& format, const std::filesystem::path& path,
             std::uint64_t most) {
  succeeds([&] {
    const auto file = format.open(path.string());
    std::string record;
    std::uint64_t records = 0, place = 0;
    while (file->next(record)) {
      require(file->position() >= place, "a place only grows");
      place = file->position();
      require(++records <= most, "a file has no more records than bytes");
    }
  });
}

void read_tfrecord(std::string_view bytes) {
  const std::filesystem::path path = scratch_file("records", bytes);
  const Compression packing = compression_of_bytes(bytes);
  const Reading reading = read_all(path, std::nullopt);
  compare_with_skipping(path, reading);
  if (packing != reading.compression) compare_with_skipping(path, read_all(path, packing));

  // Only one of the formats, chosen by the size, since opening takes longer than reading.
  constexpr std::uint64_t kMost = 1U << 28;  // decompressed data may be much larger than the file
  switch (bytes.size() % 5) {
    case 0:
      return read_as(data::tfrecord_format(std::nullopt), path, kMost);
    case 1:
      return read_as(data::text_line_format(1), path, kMost);
    case 2:
      return read_as(data::whole_file_format(), path, 1);
    case 3:
      return read_as(data::fixed_length_format({.record_bytes = 3,
                                                .header_bytes = 2,
                                                .footer_bytes = 1,
                                                .hop_bytes = 2,
                                                .compression = packing}),
                     path, kMost);
    default:
      return read_as(
          data::fixed_length_format({.record_bytes = 16, .footer_bytes = 5, .hop_bytes = 40}), path,
          kMost);
  }
}

}  // namespace

const Target kTFRecord{"tfrecord", read_tfrecord, mutate_records};

}  // namespace towerflow::fuzz
