#include "core/graph/log.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

namespace towerflow {
namespace {

void write_line(LogLevel level, std::string_view text) {
  std::fprintf(stderr, "%s%.*s\n", level == LogLevel::warning ? "warning: " : "",
               static_cast<int>(text.size()), text.data());
}

struct Sink {
  std::recursive_mutex mutex;  // a sink may log, or set another sink
  bool called = false;         // by the thread that holds the mutex
  // nullptr: lines to stderr. Shared, so that a sink lives until it returns even if it sets
  // another.
  std::shared_ptr<const LogSink> sink;
};

/// Never destroyed: threads that end late may log after static objects are destroyed.
Sink& global_sink() {
  alignas(Sink) static std::byte memory[sizeof(Sink)];
  static auto* sink = new (memory) Sink;
  return *sink;
}

}  // namespace

LogSink set_log_sink(LogSink sink) {
  Sink& holder = global_sink();
  auto next = std::make_shared<const LogSink>(std::move(sink));
  std::lock_guard lock(holder.mutex);
  LogSink before = holder.sink == nullptr ? LogSink(write_line) : *holder.sink;
  holder.sink = std::move(next);
  return before;
}

void log_message(LogLevel level, std::string_view text) noexcept {
  Sink& holder = global_sink();
  std::lock_guard lock(holder.mutex);
  const std::shared_ptr<const LogSink> sink = holder.sink;
  if (holder.called || sink == nullptr) return write_line(level, text);
  if (!*sink) return;
  holder.called = true;
  try {
    (*sink)(level, text);
  } catch (...) {
    write_line(level, text);
  }
  holder.called = false;
}

void log_exception(std::string_view what) noexcept {
  char text[1024];
  int length = 0;
  try {
    throw;
  } catch (const std::exception& error) {
    length = std::snprintf(text, sizeof text, "%.*s: %s", static_cast<int>(what.size()),
                           what.data(), error.what());
  } catch (...) {
    length = std::snprintf(text, sizeof text,
                           "%.*s: an exception that is not derived from std::exception",
                           static_cast<int>(what.size()), what.data());
  }
  const auto most = static_cast<int>(sizeof text) - 1;
  log_message(LogLevel::warning, {text, static_cast<std::size_t>(std::clamp(length, 0, most))});
}

}  // namespace towerflow
