#include "engine/base/log.h"

#include <atomic>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <mutex>
#include <string>

namespace engine {

namespace {

struct Destination {
    std::mutex mutex;
    std::ofstream file; // open after setLogFile
    LogSink sink;
};

// Made on first use, so that code that runs before main may log.
Destination& destination() {
    static Destination instance;
    return instance;
}

std::atomic<LogLevel> lowestLevel{LogLevel::Warning};

std::string_view levelName(LogLevel level) {
    switch (level) {
    case LogLevel::Debug: return "debug";
    case LogLevel::Info: return "info";
    case LogLevel::Warning: return "warning";
    case LogLevel::Error: return "error";
    case LogLevel::Off: break;
    }
    return "off";
}

std::string utcTime() {
    const std::time_t now = std::time(nullptr);
    std::tm parts = {};
#ifdef _WIN32
    gmtime_s(&parts, &now);
#else
    gmtime_r(&now, &parts);
#endif
    char text[32];
    return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

} // namespace

void setLogLevel(LogLevel lowest) {
    lowestLevel.store(lowest, std::memory_order_relaxed);
}

bool logEnabled(LogLevel level) {
    return level != LogLevel::Off && level >= lowestLevel.load(std::memory_order_relaxed);
}

Result<void> setLogFile(const std::filesystem::path& path) {
    std::ofstream file(path, std::ios::app | std::ios::binary);
    if (!file) return Error{ErrorCode::Io, "the log file cannot be written"};
    Destination& to = destination();
    const std::scoped_lock lock(to.mutex);
    to.file = std::move(file);
    return {};
}

void setLogSink(LogSink sink) {
    Destination& to = destination();
    const std::scoped_lock lock(to.mutex);
    to.sink = std::move(sink);
}

void log(LogLevel level, std::string_view message) {
    if (!logEnabled(level)) return;
    std::string line = utcTime();
    line += ' ';
    line += levelName(level);
    line += ": ";
    for (const char c : message) line += c == '\n' || c == '\r' ? ' ' : c;

    Destination& to = destination();
    const std::scoped_lock lock(to.mutex);
    if (to.sink) {
        to.sink(level, line);
    } else if (to.file.is_open()) {
        to.file << line << '\n' << std::flush;
    } else {
        line += '\n';
        std::fwrite(line.data(), 1, line.size(), stderr);
    }
}

} // namespace engine
