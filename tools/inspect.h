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

/// The argument of `towerflow inspect`, with the data from which its kind is detected.
struct Subject {
  std::filesystem::path path;
  bool folder = false;
  bool file = false;        ///< neither folder nor file: checkpoint prefix or nonexistent path
  std::uint64_t bytes = 0;  ///< stored size of a file
  data::Compression compression = data::Compression::none;  ///< detected from the first bytes
  std::string start;    ///< the first bytes, at most 512, decompressed as far as possible
  std::string problem;  ///< why decompression stopped; "" if it did not
  std::string end;      ///< the last stored bytes, at most 8
};

struct InspectOptions {
  bool values = false;  ///< also read the values of a checkpoint
  bool all = false;     ///< show every row of a table
};

/// The printed result in machine-readable form, and the damage found in the file.
struct Findings {
  nlohmann::ordered_json json;
  std::optional<errors::OpError> damage;
};

/// One kind of file. `inspect_file` asks the kinds in order; the first whose `why_not` gives no
/// reason against it prints the subject. Kinds are listed in `kKinds` (tools/inspect_file.cc).
struct FileKind {
  const char* name;  ///< "TFRecord"
  std::string (*why_not)(const Subject& subject);
  Findings (*print)(const Subject& subject, const InspectOptions& options);
};

/// Detects the kind of `path`, prints its content and returns it for programs; `damage` is what
/// ended the reading early. Throws errors::NotFoundError if nothing exists there,
/// InvalidArgumentError if it is not a file or of no known kind, and the errors of reading.
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

/// Returns "none", "gzip" or "zlib".
const char* compression_name(data::Compression compression);

/// Returns "4.5 MiB", or "gzip, 1.2 MiB, 4.5 MiB without compression", the latter from `bytes`.
std::string stored_text(const Subject& subject, std::uint64_t bytes);

/// Formats a value of the dtype: integers in full, floating-point numbers with six digits.
std::string value_text(long double value, DType dtype);

/// Returns "0 to 255, mean 33.3, standard deviation 78.6", plus the numbers of NaN and infinite
/// values if there are any.
std::string statistics_text(const data::Statistics& statistics, DType dtype);
nlohmann::ordered_json statistics_json(const data::Statistics& statistics, DType dtype);

/// The number of table rows shown without --all.
inline constexpr std::size_t kShownRows = 100;

/// Returns "... and 20 more (--all shows them)", or "".
std::string omitted_rows_text(std::size_t rows, const InspectOptions& options);

}  // namespace towerflow::tools
