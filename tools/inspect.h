#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "data/compression.h"
#include "data/statistics.h"

namespace towerflow::tools {

/// What `towerflow inspect` was given, with what tells kinds of file apart.
struct Subject {
  std::filesystem::path path;
  bool folder = false;
  bool file = false;        ///< neither: the prefix of a checkpoint, or nothing that exists
  std::uint64_t bytes = 0;  ///< of a file, as it is stored
  data::Compression compression = data::Compression::none;  ///< by the first bytes
  std::string start;    ///< the first bytes, at most 512, decompressed as far as they can be
  std::string problem;  ///< why no more of them could be; "" where nothing stood in the way
  std::string end;      ///< the last bytes as they are stored, at most 8
};

struct InspectOptions {
  bool values = false;  ///< read the values of a checkpoint as well
  bool all = false;     ///< show every row of a table
};

/// What was printed, for programs, and what is wrong with the file.
struct Findings {
  nlohmann::ordered_json json;
  std::optional<errors::OpError> damage;
};

/// One kind of file: `inspect` asks the kinds in order, and the first that does not say why the
/// subject is none of its own prints it. A kind is a row of `file_kinds` (tools/inspect_file.cc).
struct FileKind {
  const char* name;  ///< "TFRecord"
  std::string (*why_not)(const Subject& subject);
  Findings (*print)(const Subject& subject, const InspectOptions& options);
};

/// Finds out what `path` is, prints that for people and returns it for programs, `damage` being
/// what ended the reading early. Throws errors::NotFoundError where there is nothing,
/// InvalidArgumentError for what is no file or of no known kind, and the errors of reading.
Findings inspect_file(const std::string& path, const InspectOptions& options);

std::string why_not_records(const Subject& subject);
Findings print_records(const Subject& subject, const InspectOptions& options);

std::string why_not_events(const Subject& subject);
Findings print_events(const Subject& subject, const InspectOptions& options);

std::string why_not_idx(const Subject& subject);
Findings print_idx(const Subject& subject, const InspectOptions& options);

std::string why_not_checkpoint(const Subject& subject);
Findings print_checkpoint(const Subject& subject, const InspectOptions& options);

std::string why_not_train_dir(const Subject& subject);
Findings print_train_dir(const Subject& subject, const InspectOptions& options);

/// "none", "gzip", "zlib".
const char* compression_name(data::Compression compression);

/// "plain", or "gzip, 4.5 MiB without compression", `bytes` being the latter.
std::string stored_text(const Subject& subject, std::uint64_t bytes);

/// A value of the dtype: an integer as one, a number in six digits.
std::string value_text(long double value, DType dtype);

/// "0 to 255, mean 33.3, standard deviation 78.6", and NaN and infinite values where there are any.
std::string statistics_text(const data::Statistics& statistics, DType dtype);
nlohmann::ordered_json statistics_json(const data::Statistics& statistics, DType dtype);

/// Rows of a table that are shown without --all.
inline constexpr std::size_t kShownRows = 100;

/// "... and 20 more (--all shows them)", or "".
std::string more_text(std::size_t rows, const InspectOptions& options);

}  // namespace towerflow::tools
