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

/// An image that is already encoded, as a PNG for example. (tf.Summary.Image)
struct SummaryImage {
  int height = 0;
  int width = 0;
  int colorspace = 0;  ///< number of channels: 1 gray, 2 with alpha, 3 RGB, 4 RGBA
  std::string encoded_image_string{};

  bool operator==(const SummaryImage&) const = default;
};

/// One tagged value of a summary: a number, a histogram, an image, or something else (a tensor)
/// that is not read here. (tf.Summary.Value)
struct SummaryValue {
  std::string tag;
  std::optional<float> simple_value{};
  std::optional<HistogramData> histo{};
  std::optional<SummaryImage> image{};

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

namespace towerflow::types {

/// A summary that a program fills itself, for `FileWriter::add_summary`. (tf.Summary)
///
///     writer.add_summary(tf::Summary{{{.tag = "accuracy", .simple_value = 0.9F}}}, step);
struct Summary {
  using Value = summary::types::SummaryValue;
  using Image = summary::types::SummaryImage;
  std::vector<Value> value{};

  std::string SerializeToString() const;
  /// Throws DataLossError for damaged bytes. Values of other kinds keep only their tag.
  static Summary FromString(std::string_view bytes);
  bool operator==(const Summary&) const = default;
};

}  // namespace towerflow::types

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
