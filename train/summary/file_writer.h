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
  std::size_t max_queue = 10;     ///< pending events before a call blocks, 0 for no limit
  double flush_secs = 120;        ///< how long an event may stay invisible to TensorBoard
  std::string filename_suffix{};  ///< appended to every event file name
};

/// Writes summaries to event files that TensorBoard reads while they grow:
/// `LOGDIR/events.out.tfevents.TIME.HOST`. A background thread does the writing.
///
/// Files and messages are the same as TensorFlow's. An event is in the file when `flush` or `close`
/// has returned; if an earlier event could not be written, they or the next call throw the error
/// (ResourceExhaustedError for a full disk). A closed writer ignores events and logs a warning.
/// Thread-safe.
///
/// errors   those of creating the folder and the file: PermissionDeniedError, ...; ValueError: an
///          option out of range
/// source   tf.summary.FileWriter
class FileWriter {
 public:
  explicit FileWriter(const Text& logdir, FileWriterOptions options = {});
  /// Also writes an event with the graph.
  FileWriter(const Text& logdir, const Graph& graph, FileWriterOptions options = {});
  /// Closes the file; logs a warning if events could not be written.
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  /// Adds a serialized summary as returned by a run: `writer.add_summary(sess.run(merged), step)`.
  /// Throws TypeError unless it is one string, InvalidArgumentError if its bytes are not a summary.
  void add_summary(const Array& summary, std::optional<std::int64_t> global_step = std::nullopt);
  void add_summary(std::string_view summary,
                   std::optional<std::int64_t> global_step = std::nullopt);
  /// Adds a summary that the program has filled itself.
  void add_summary(const Summary& summary, std::optional<std::int64_t> global_step = std::nullopt);
  /// Adds the nodes that the graph has now.
  void add_graph(const Graph& graph, std::optional<std::int64_t> global_step = std::nullopt);
  void add_session_log(const SessionLog& log,
                       std::optional<std::int64_t> global_step = std::nullopt);
  /// Adds the event unchanged, with its own time and step.
  void add_event(const Event& event);

  /// Returns when everything added before can be read by others.
  void flush();
  /// Flushes to disk and closes the file; a second call does nothing.
  void close();
  /// After `close`, continues in a new file in the same folder.
  void reopen();

  std::string get_logdir() const;
  /// Returns the current event file, or the last one if closed.
  std::string path() const;

 private:
  void add(Event event, std::optional<std::int64_t> step);
  void warn_if_closed() const;

  std::unique_ptr<EventFileWriter> events_;
};

}  // namespace towerflow::summary::types
