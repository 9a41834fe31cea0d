#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/file.h"
#include "data/statistics.h"

namespace towerflow::data {

/// The content of an event file under one tag.
struct TagSummary {
  std::string tag;   ///< at most the first 256 bytes
  std::string kind;  ///< of the last point: "scalar", "image", "histogram", "tensor", ...
  std::uint64_t points = 0;
  std::int64_t first_step = 0, last_step = 0;  ///< in file order
  float first_value = 0, last_value = 0;       ///< of scalars
  Statistics values{};                         ///< of scalars
};

/// The content of an event file (the files that TensorBoard reads).
struct EventSummary {
  std::string version;       ///< "brain.Event:2"
  std::uint64_t events = 0;  ///< up to the end or the damage, including the version event
  std::uint64_t bytes = 0;   ///< occupied by these events
  std::uint64_t graphs = 0;  ///< events with a graph
  double first_time = 0, last_time = 0;   ///< seconds since 1970, in file order
  std::vector<TagSummary> tags;           ///< sorted by tag, at most kMaxTags
  std::uint64_t tags_left_out = 0;        ///< points of the tags beyond kMaxTags
  std::optional<errors::OpError> damage;  ///< why reading stopped early: record and byte
};

/// The number of tags that are summarized; the points of further tags are only counted.
inline constexpr std::size_t kMaxTags = 1000;

/// Returns whether a record is the event with which every event file begins: the one with the
/// file's version, "brain.Event:2".
bool is_version_event(std::string_view record);

/// Reads an event file to its end and summarizes it. Damage, which includes a record that is not an
/// event, ends the reading and is reported in the result. `progress` is as for `summarize_records`.
///
/// Memory: one record (1 GiB at most) and kMaxTags summaries, whatever the file's size. Throws
/// only the errors of opening the file.
EventSummary summarize_events(const std::filesystem::path& path,
                              const std::function<void(std::uint64_t)>& progress = {});

}  // namespace towerflow::data
