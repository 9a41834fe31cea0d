#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/types.h"

namespace towerflow::summary::types {

/// What a histogram holds: `bucket[i]` values lie below `bucket_limit[i]` and not below the limit
/// before it. (tf.HistogramProto)
struct HistogramData {
  double min = 0;
  double max = 0;
  double num = 0;
  double sum = 0;
  double sum_squares = 0;
  std::vector<double> bucket_limit{};
  std::vector<double> bucket{};

  bool operator==(const HistogramData&) const = default;
};

/// One tagged value of a summary: a number, a histogram, or something else (an image, a tensor)
/// that is not read here. (tf.Summary.Value)
struct SummaryValue {
  std::string tag;
  std::optional<float> simple_value{};
  std::optional<HistogramData> histo{};

  bool operator==(const SummaryValue&) const = default;
};

/// Where a run began or stood: on START TensorBoard drops what an interrupted run before it wrote
/// for the same steps and later ones. (tf.SessionLog)
struct SessionLog {
  enum Status : int { STATUS_UNSPECIFIED = 0, START = 1, STOP = 2, CHECKPOINT = 3 };
  Status status = STATUS_UNSPECIFIED;
  std::string checkpoint_path{};
  std::string msg{};

  bool operator==(const SessionLog&) const = default;
};

/// A record of an event file; it holds one of the parts after `step`, or something that is not read
/// here. (tf.Event)
struct Event {
  double wall_time = 0;  ///< seconds since 1970
  std::int64_t step = 0;
  std::string file_version{};  ///< "brain.Event:2" in the first record of a file
  std::optional<std::vector<SummaryValue>> summary{};
  std::optional<std::string> graph_def{};  ///< serialized; `read_graph_def` takes it apart
  std::optional<std::string> meta_graph_def{};
  std::optional<SessionLog> session_log{};

  bool operator==(const Event&) const = default;
};

}  // namespace towerflow::summary::types

namespace towerflow::summary {

/// The wall time of an event that is made now.
double seconds_since_1970();

/// The message as event files and TensorFlow have it.
std::string serialize(const Event& event);
std::string serialize_summary(const std::vector<SummaryValue>& values);
/// An event around a summary that is serialized already.
std::string serialize_event(double wall_time, std::int64_t step, std::string_view summary);

/// The values of a serialized tf.Summary. Throws DataLossError for bytes that are none and
/// ResourceExhaustedError for more than 2^20 values: each takes more memory than it has bytes.
std::vector<SummaryValue> parse_summary(std::string_view bytes);
/// The event of a record. Throws as `parse_summary`.
Event parse_event(std::string_view bytes);

}  // namespace towerflow::summary
