#pragma once
// The log: one line per event, for whoever helps a person later; never their texts. Any thread.
// Lines go to stderr from Warning up until setLogLevel or setLogFile say otherwise.

#include "engine/base/result.h"

#include <filesystem>
#include <functional>
#include <string_view>

namespace engine {

enum class LogLevel { Debug, Info, Warning, Error, Off };

void setLogLevel(LogLevel lowest);
bool logEnabled(LogLevel level);

// Appends to this file instead of stderr.
Result<void> setLogFile(const std::filesystem::path& path);

// Replaces the destination; called under the log's lock with whole lines, without a line end. An
// empty function restores stderr.
using LogSink = std::function<void(LogLevel level, std::string_view line)>;
void setLogSink(LogSink sink);

void log(LogLevel level, std::string_view message);

} // namespace engine
