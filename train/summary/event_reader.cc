#include "train/summary/event_reader.h"

#include <fmt/format.h>

#include <algorithm>

namespace towerflow::summary {

EventReader::EventReader(std::filesystem::path path, EventReaderOptions options)
    : records_(std::move(path), {.compression = data::Compression::none,
                                 .max_record_bytes = options.max_event_bytes}) {}

std::optional<Event> EventReader::next() {
  if (failure_) errors::raise(failure_->code(), failure_->message(), failure_->detail());
  // The record reader itself reports a damaged record again at each call.
  if (!records_.next(record_)) return std::nullopt;
  try {
    Event event = parse_event(record_);
    // Any other message, such as an Example, would be parsed as an event without known fields.
    if (events_ == 0 && !event.file_version.starts_with("brain.Event:")) {
      throw errors::DataLossError("it has no version, \"brain.Event:2\"",
                                  {.hint = "is this an event file?"});
    }
    ++events_;
    return event;
  } catch (const errors::OpError& error) {
    failure_.emplace(error.code(),
                     fmt::format("record {} of {} is not an event: {}", events_, path().string(),
                                 error.message()),
                     error.detail());
    errors::raise(failure_->code(), failure_->message(), failure_->detail());
  }
}

std::vector<std::filesystem::path> event_files(const std::filesystem::path& logdir) {
  std::vector<std::filesystem::path> found;
  for (const std::string& name : list_folder(logdir)) {
    if (name.find("tfevents") != std::string::npos) found.push_back(logdir / name);
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace towerflow::summary
