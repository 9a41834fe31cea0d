#include "core/graph/log.h"

#include <cstdio>
#include <mutex>
#include <utility>

namespace towerflow {
namespace {

struct Sink {
  std::mutex mutex;
  LogSink sink = [](LogLevel level, std::string_view text) {
    std::fprintf(stderr, "%s%.*s\n", level == LogLevel::warning ? "warning: " : "",
                 static_cast<int>(text.size()), text.data());
  };
};

Sink& the_sink() {
  static Sink sink;
  return sink;
}

}  // namespace

LogSink set_log_sink(LogSink sink) {
  Sink& holder = the_sink();
  std::lock_guard lock(holder.mutex);
  return std::exchange(holder.sink, std::move(sink));
}

void log_message(LogLevel level, std::string_view text) {
  Sink& holder = the_sink();
  std::lock_guard lock(holder.mutex);
  if (holder.sink) holder.sink(level, text);
}

}  // namespace towerflow
