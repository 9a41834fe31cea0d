#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "data/tfrecord.h"
#include "train/summary/event.h"

namespace towerflow::summary {

/// How an event file is read.
struct EventReaderOptions {
  /// A record above this is refused with ResourceExhaustedError before memory is taken for it.
  std::uint64_t max_event_bytes = 256ULL << 20;
};

/// Reads the events of a file in order, those that TensorFlow wrote too.
/// (tf.train.summary_iterator)
///
/// Errors name file and record: DataLossError for a file whose first record is no event with a
/// version ("brain.Event:2"), a damaged record, and a truncated last one, which a file that is
/// still being written may have; ResourceExhaustedError for an event that is too large. After an
/// error every further call throws it again. A file without any record has no events.
class EventReader {
 public:
  explicit EventReader(std::filesystem::path path, EventReaderOptions options = {});

  /// The next event, the one with the version included, or nothing at the end of the file.
  std::optional<Event> next();

  const std::filesystem::path& path() const { return records_.path(); }
  /// Events returned so far.
  std::uint64_t events_read() const { return events_; }

 private:
  data::TFRecordReader records_;
  std::string record_;
  std::uint64_t events_ = 0;
  std::optional<errors::OpError> failure_;
};

/// The event files in a folder, which have "tfevents" in their names, in the order in which
/// TensorBoard reads them: by name. Throws NotFoundError where there is no such folder.
std::vector<std::filesystem::path> event_files(const std::filesystem::path& logdir);

}  // namespace towerflow::summary
