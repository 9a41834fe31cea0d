#include "train/summary/file_writer.h"

#include <fmt/format.h>

#include "core/graph/log.h"
#include "train/summary/event.h"
#include "train/summary/event_file_writer.h"
#include "train/summary/graph_def.h"

namespace towerflow::summary {
FileWriter::FileWriter(const Text& logdir, FileWriterOptions options)
    : events_(std::make_unique<EventFileWriter>(
          logdir.str(), EventFileOptions{options.max_queue, options.flush_secs,
                                         std::move(options.filename_suffix)})) {}

FileWriter::FileWriter(const Text& logdir, const Graph& graph, FileWriterOptions options)
    : FileWriter(logdir, std::move(options)) {
  add_graph(graph);
}

FileWriter::~FileWriter() = default;

void FileWriter::warn_if_closed() const {
  if (!events_->closed()) return;
  log_message(LogLevel::warning,
              "Attempting to use a closed FileWriter. The operation will be a noop unless the "
              "FileWriter is explicitly reopened.");
}

void FileWriter::add(Event event, std::optional<std::int64_t> step) {
  event.wall_time = seconds_since_1970();
  event.step = step.value_or(0);
  add_event(event);
}

void FileWriter::add_summary(const Array& summary, std::optional<std::int64_t> global_step) {
  if (summary.dtype() != DType::string || summary.elements() != 1) {
    throw TypeError(fmt::format("a summary is one string, not {}", summary.text()));
  }
  add_summary(summary.data<std::string>()[0], global_step);
}

void FileWriter::add_summary(std::string_view summary, std::optional<std::int64_t> global_step) {
  try {
    parse_summary(summary);
  } catch (const errors::DataLossError& error) {
    throw errors::InvalidArgumentError(error.message());
  }
  warn_if_closed();
  // The original bytes, since parsing would lose images and other values.
  events_->add(serialize_event(seconds_since_1970(), global_step.value_or(0), summary));
}

void FileWriter::add_summary(const Summary& summary, std::optional<std::int64_t> global_step) {
  add_summary(std::string_view(summary.SerializeToString()), global_step);
}

void FileWriter::add_graph(const Graph& graph, std::optional<std::int64_t> global_step) {
  Event event;
  event.graph_def = serialize_graph(graph);
  add(std::move(event), global_step);
}

void FileWriter::add_session_log(const SessionLog& log, std::optional<std::int64_t> global_step) {
  Event event;
  event.session_log = log;
  add(std::move(event), global_step);
}

void FileWriter::add_event(const Event& event) {
  warn_if_closed();
  events_->add(serialize(event));
}

void FileWriter::flush() {
  warn_if_closed();
  events_->flush();
}

void FileWriter::close() { events_->close(); }

void FileWriter::reopen() { events_->reopen(); }

std::string FileWriter::get_logdir() const { return events_->logdir().string(); }

std::string FileWriter::path() const { return events_->path().string(); }

}  // namespace towerflow::summary
