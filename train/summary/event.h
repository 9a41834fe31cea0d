#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/types.h"

namespace towerflow::summary::types {

/// A histogram: `bucket[i]` counts the values below `bucket_limit[i]` and not below the previous
/// limit. (tf.HistogramProto)
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

/// The status of a run. At START, TensorBoard drops what an earlier, interrupted run wrote for
/// the same and later steps. (tf.SessionLog)
struct SessionLog {
  enum Status : int { STATUS_UNSPECIFIED = 0, START = 1, STOP = 2, CHECKPOINT = 3 };
  Status status = STATUS_UNSPECIFIED;
  std::string checkpoint_path{};
  std::string msg{};

  bool operator==(const SessionLog&) const = default;
};

/// A record of an event file. It has one of the members after `step`, or something that is not read
/// here. (tf.Event)
struct Event {
  double wall_time = 0;  ///< seconds since 1970
  std::int64_t step = 0;
  std::string file_version{};  ///< "brain.Event:2" in the first record of a file
  std::optional<std::vector<SummaryValue>> summary{};
  std::optional<std::string> graph_def{};  ///< serialized; parsed by `GraphDef::FromString`
  std::optional<std::string> meta_graph_def{};
  std::optional<SessionLog> session_log{};

  bool operator==(const Event&) const = default;
};

}  // namespace towerflow::summary::types

namespace towerflow::summary {

/// Returns the current time, for an event's wall time.
double seconds_since_1970();

/// Return the serialized protocol buffers, as TensorFlow writes them.
std::string serialize(const Event& event);
std::string serialize_summary(const std::vector<SummaryValue>& values);
/// Returns a serialized event with a summary that is already serialized.
std::string serialize_event(double wall_time, std::int64_t step, std::string_view summary);

/// Parses a serialized tf.Summary. Throws DataLossError for damaged bytes, and
/// ResourceExhaustedError for more than 2^20 values, since each takes more memory than it has
/// bytes.
std::vector<SummaryValue> parse_summary(std::string_view bytes);
/// Parses the event of a record. Throws like `parse_summary`.
Event parse_event(std::string_view bytes);

}  // namespace towerflow::summary
