#pragma once

#include <functional>
#include <string_view>

#include "core/graph/types.h"

namespace towerflow::types {

/// Severity of a message that is not an error.
enum class LogLevel { info, warning };

using LogSink = std::function<void(LogLevel, std::string_view)>;

}  // namespace towerflow::types

namespace towerflow {

/// Sets the sink of warnings, the placement log and explanations; the default one writes lines to
/// stderr. Returns the previous sink, which no thread calls any more unless this is called from
/// inside it. Safe from any thread; sinks are called one at a time.
LogSink set_log_sink(LogSink sink);

/// Passes a message to the sink. Never throws: if the sink does, the exception is dropped and the
/// message goes to stderr, as do messages that a sink itself logs.
void log_message(LogLevel level, std::string_view text) noexcept;

/// Logs the current exception as a warning, "what: message", where it cannot propagate: in a
/// destructor, or at the end of a thread. Does not allocate.
void log_exception(std::string_view what) noexcept;

}  // namespace towerflow
