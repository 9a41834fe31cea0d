#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "data/tfrecord.h"
#include "train/summary/event.h"

namespace towerflow::summary {

/// Options for reading an event file.
struct EventReaderOptions {
  /// Larger records are rejected with ResourceExhaustedError before memory is allocated for them.
  std::uint64_t max_event_bytes = 256ULL << 20;
};

/// Reads the events of a file in order, including files that TensorFlow wrote.
/// (tf.train.summary_iterator)
///
/// Errors name the file and the record: DataLossError if the first record is not an event with a
/// version ("brain.Event:2"), if a record is damaged or if the last one is truncated, which may
/// happen while the file is being written; ResourceExhaustedError if an event is too large. After
/// an error, every further call throws it again. A file without records has no events.
class EventReader {
 public:
  explicit EventReader(std::filesystem::path path, EventReaderOptions options = {});

  /// Returns the next event, including the one with the version, or nothing at the end of the file.
  std::optional<Event> next();

  const std::filesystem::path& path() const { return records_.path(); }
  /// Number of events returned so far.
  std::uint64_t events_read() const { return events_; }

 private:
  data::TFRecordReader records_;
  std::string record_;
  std::uint64_t events_ = 0;
  std::optional<errors::OpError> failure_;
};

/// Returns the event files in a folder, which have "tfevents" in their names, in name order, as
/// TensorBoard reads them. Throws NotFoundError if there is no such folder.
std::vector<std::filesystem::path> event_files(const std::filesystem::path& logdir);

}  // namespace towerflow::summary
