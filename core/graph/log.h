#pragma once

#include <functional>
#include <string_view>

#include "core/graph/types.h"

namespace towerflow::types {

/// How serious a message is that is not an error.
enum class LogLevel { info, warning };

using LogSink = std::function<void(LogLevel, std::string_view)>;

}  // namespace towerflow::types

namespace towerflow {

/// Where warnings, the placement log and explanations go; the default writes lines to stderr.
/// Returns the sink that was set before, which is called no more unless this is called from inside
/// it. Safe from any thread; the calls of sinks come one at a time.
LogSink set_log_sink(LogSink sink);

/// Hands a message to the sink. Never an error of the program: what the sink throws is dropped and
/// the message written to stderr, where that of a sink which itself logs goes, too.
void log_message(LogLevel level, std::string_view text) noexcept;

/// Warns of the exception that is being handled, "<what>: <its text>", where it can go no further:
/// in a destructor, or at the end of a thread. Needs no memory.
void log_exception(std::string_view what) noexcept;

}  // namespace towerflow
