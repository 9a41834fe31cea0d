// Detects the kind of file given to `towerflow inspect` from its content.
#include "tools/inspect.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <system_error>

#include "core/graph/nearest.h"
#include "data/tfrecord.h"
#include "tools/text.h"

namespace towerflow::tools {
namespace {

namespace fs = std::filesystem;

constexpr std::array kKinds{
    FileKind{"training folder", why_not_train_dir, print_train_dir},
    FileKind{"checkpoint", why_not_checkpoint, print_checkpoint},
    FileKind{"events", why_not_events, print_events},
    FileKind{"TFRecord", why_not_records, print_records},
    FileKind{"IDX", why_not_idx, print_idx},
};

/// Checks for a header of RFC 1950: method 8, a window of at most 32 KiB, no dictionary, and a
/// multiple of 31.
bool has_zlib_header(std::span<const std::byte> bytes) {
  if (bytes.size() < 2) return false;
  const auto first = std::to_integer<unsigned>(bytes[0]);
  const auto second = std::to_integer<unsigned>(bytes[1]);
  return (first & 0x0f) == 8 && first >> 4 <= 7 && (second & 0x20) == 0 &&
         (first << 8 | second) % 31 == 0;
}

data::Compression compression_of(std::span<const std::byte> start) {
  if (data::is_record_header(start)) return data::Compression::none;
  if (data::has_gzip_magic(start)) return data::Compression::gzip;
  return has_zlib_header(start) ? data::Compression::zlib : data::Compression::none;
}

/// Reads byte by byte, so that all bytes before damaged data are kept.
void read_start(data::DecodingInput& input, Subject& subject) {
  constexpr std::size_t kStart = 512;
  try {
    for (std::byte byte; subject.start.size() < kStart && input.read({&byte, 1}) == 1;)
      subject.start += static_cast<char>(byte);
  } catch (const errors::DataLossError& error) {
    subject.problem = error.message();
  }
}

std::string last_bytes(const fs::path& path) {
  const InputFile file(path);
  const std::uint64_t size = file.size().value_or(0);
  std::string end(static_cast<std::size_t>(std::min<std::uint64_t>(size, 8)), '\0');
  file.read_exactly_at(size - end.size(), std::as_writable_bytes(std::span(end)));
  return end;
}

Subject find_subject(const std::string& path) {
  Subject subject{.path = path};
  std::error_code error;
  const fs::file_status status = fs::status(subject.path, error);
  subject.folder = fs::is_directory(status);
  if (subject.folder || !fs::exists(status)) return subject;
  // Opening a pipe could block, and a pipe has neither a size nor an end.
  if (!fs::is_regular_file(status)) {
    throw errors::InvalidArgumentError(
        fmt::format("{} is not a file but a device, pipe or socket", path));
  }
  subject.file = true;
  data::DecodingInput input(subject.path);
  subject.bytes = input.remaining().value_or(0);
  subject.compression = compression_of(input.peek_stored(data::kRecordHeaderBytes));
  input.set_compression(subject.compression);
  read_start(input, subject);
  subject.end = last_bytes(subject.path);
  return subject;
}

/// Throws NotFoundError with similar names in the folder; checkpoints are listed by their prefix.
[[noreturn]] void throw_not_found(const fs::path& path) {
  constexpr std::size_t kMostNames = 1000;
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end;
       !error && entry != end && names.size() < kMostNames; entry.increment(error)) {
    const fs::path name = entry->path().filename();
    names.push_back(name.extension() == ".index" ? name.stem().string() : name.string());
  }
  throw errors::NotFoundError(
      fmt::format("there is no file, folder or checkpoint {}", path.string()),
      {.hint = nearest_hint(path.filename().string(), names)});
}

const FileKind& kind_of(const Subject& subject) {
  std::string reasons;
  for (const FileKind& kind : kKinds) {
    const std::string reason = kind.why_not(subject);
    if (reason.empty()) return kind;
    reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", kind.name, reason);
  }
  if (!subject.file && !subject.folder) throw_not_found(subject.path);
  if (!subject.problem.empty()) throw errors::DataLossError(subject.problem);
  throw errors::InvalidArgumentError(
      fmt::format("{} is not a file of a known kind", subject.path.string()), {.hint = reasons});
}

}  // namespace

const char* compression_name(data::Compression compression) {
  if (compression == data::Compression::gzip) return "gzip";
  return compression == data::Compression::zlib ? "zlib" : "none";
}

std::string stored_text(const Subject& subject, std::uint64_t bytes) {
  if (subject.compression == data::Compression::none) return size_text(subject.bytes);
  return fmt::format("{}, {}, {} without compression", compression_name(subject.compression),
                     size_text(subject.bytes), size_text(bytes));
}

std::string value_text(long double value, DType dtype) {
  return is_floating(dtype) ? fmt::format("{:.6g}", static_cast<double>(value))
                            : fmt::format("{:.0f}", value);
}

std::string statistics_text(const data::Statistics& statistics, DType dtype) {
  std::string text = fmt::format(
      "{} to {}, mean {:.6g}, standard deviation {:.6g}", value_text(statistics.min(), dtype),
      value_text(statistics.max(), dtype), statistics.mean(), statistics.standard_deviation());
  if (statistics.nan() > 0) text += fmt::format(", {} NaN", statistics.nan());
  if (statistics.infinite() > 0) text += fmt::format(", {} infinite", statistics.infinite());
  return text;
}

nlohmann::ordered_json statistics_json(const data::Statistics& statistics, DType dtype) {
  nlohmann::ordered_json json;
  if (statistics.finite() > 0 && dtype == DType::uint64) {
    json["min"] = static_cast<std::uint64_t>(statistics.min());
    json["max"] = static_cast<std::uint64_t>(statistics.max());
  } else if (statistics.finite() > 0 && !is_floating(dtype)) {
    json["min"] = static_cast<std::int64_t>(statistics.min());
    json["max"] = static_cast<std::int64_t>(statistics.max());
  } else if (statistics.finite() > 0) {
    json["min"] = static_cast<double>(statistics.min());
    json["max"] = static_cast<double>(statistics.max());
  }
  if (statistics.finite() > 0) {
    json["mean"] = statistics.mean();
    json["standard_deviation"] = statistics.standard_deviation();
  }
  json["zeros"] = statistics.zeros();
  json["nan"] = statistics.nan();
  json["infinite"] = statistics.infinite();
  return json;
}

std::string omitted_rows_text(std::size_t rows, const InspectOptions& options) {
  if (options.all || rows <= kShownRows) return "";
  return fmt::format("  ... and {} more (--all shows them)\n", rows - kShownRows);
}

Findings inspect_file(const std::string& path, const InspectOptions& options) {
  const Subject subject = find_subject(path);
  return kind_of(subject).print(subject, options);
}

}  // namespace towerflow::tools
