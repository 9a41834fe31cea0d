#pragma once

#include <functional>
#include <string_view>

namespace towerflow {

/// How serious a message is that is not an error.
enum class LogLevel { info, warning };

using LogSink = std::function<void(LogLevel, std::string_view)>;

/// Where warnings, the placement log and explanations go; the default writes lines to stderr.
/// Returns the sink that was set before. Safe from any thread.
LogSink set_log_sink(LogSink sink);

void log_message(LogLevel level, std::string_view text);

}  // namespace towerflow
