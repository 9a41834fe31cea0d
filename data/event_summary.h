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

/// What an event file holds under one tag.
struct TagSummary {
  std::string tag;   ///< its first 256 bytes
  std::string kind;  ///< of the last point: "scalar", "image", "histogram", "tensor", ...
  std::uint64_t points = 0;
  std::int64_t first_step = 0, last_step = 0;  ///< in the order of the file
  float first_value = 0, last_value = 0;       ///< of scalars
  Statistics values{};                         ///< of scalars
};

/// What an event file holds, the file that TensorBoard shows.
struct EventSummary {
  std::string version;       ///< "brain.Event:2"
  std::uint64_t events = 0;  ///< whole ones, up to the end or the damage, the version among them
  std::uint64_t bytes = 0;   ///< that they take
  std::uint64_t graphs = 0;  ///< events that hold a graph
  double first_time = 0, last_time = 0;   ///< seconds since 1970, in the order of the file
  std::vector<TagSummary> tags;           ///< by tag, at most kMostTags
  std::uint64_t tags_left_out = 0;        ///< points of further tags
  std::optional<errors::OpError> damage;  ///< why the reading ended early: record and byte
};

/// More tags than this are counted and not told apart.
inline constexpr std::size_t kMostTags = 1000;

/// Whether a record's bytes are the event with which every event file begins: one that says its
/// version, "brain.Event:2".
bool is_version_event(std::string_view record);

/// Reads an event file to its end and says what it holds; damage, a record that is no event among
/// it, ends the reading and is part of the answer. `progress` as for `summarize_records`.
///
/// Memory: one record (1 GiB at most), and kMostTags summaries, whatever the file.
/// Throws what opening the file throws.
EventSummary summarize_events(const std::filesystem::path& path,
                              const std::function<void(std::uint64_t)>& progress = {});

}  // namespace towerflow::data
