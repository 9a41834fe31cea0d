#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/graph/arguments.h"
#include "core/graph/array.h"
#include "core/graph/graph.h"
#include "train/summary/event.h"

namespace towerflow::summary {

class EventFileWriter;

}  // namespace towerflow::summary

namespace towerflow::summary::types {

struct FileWriterOptions {
  std::size_t max_queue = 10;  ///< events that wait to be written before a call blocks, 0 for any
  double flush_secs = 120;     ///< how long an event may wait before TensorBoard can read it
  std::string filename_suffix{};  ///< of every event file's name
};

/// Writes summaries into event files that TensorBoard reads while they grow:
/// `LOGDIR/events.out.tfevents.TIME.HOST`. A thread does the writing.
///
/// Files and messages are TensorFlow's. An event is in the file when `flush` or `close` has
/// returned; whatever a call before them could not write, they or the next call throw (a full disk
/// is a ResourceExhaustedError). A closed writer takes no events and says so in the log. Calls may
/// come from several threads.
///
/// errors   what creating the folder and the file throws: PermissionDeniedError, ...; ValueError:
/// an
///          option out of range
/// source   tf.summary.FileWriter
class FileWriter {
 public:
  explicit FileWriter(const Text& logdir, FileWriterOptions options = {});
  /// With an event that shows the graph.
  FileWriter(const Text& logdir, const Graph& graph, FileWriterOptions options = {});
  /// Closes; what could not be written is a warning in the log.
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  /// A serialized summary as a run gives it: `writer.add_summary(sess.run(merged), step)`. Throws
  /// TypeError for no scalar string, InvalidArgumentError for bytes that are no summary.
  void add_summary(const Array& summary, std::optional<std::int64_t> global_step = std::nullopt);
  void add_summary(std::string_view summary,
                   std::optional<std::int64_t> global_step = std::nullopt);
  /// The nodes of the graph as they are now.
  void add_graph(const Graph& graph, std::optional<std::int64_t> global_step = std::nullopt);
  void add_session_log(const SessionLog& log,
                       std::optional<std::int64_t> global_step = std::nullopt);
  /// The event as it is, with its own time and step.
  void add_event(const Event& event);

  /// Returns when everything added before can be read by others.
  void flush();
  /// Flushes, writes through to the disk and closes; a second call does nothing.
  void close();
  /// After `close`: goes on in a new file of the same folder.
  void reopen();

  std::string get_logdir() const;
  /// The event file being written, or the last one.
  std::string path() const;

 private:
  void add(Event event, std::optional<std::int64_t> step);
  void warn_if_closed() const;

  std::unique_ptr<EventFileWriter> events_;
};

}  // namespace towerflow::summary::types
