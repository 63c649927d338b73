#include "engine/base/memory_info.h"

#if defined(_WIN32)

#    include <windows.h>

namespace engine {

MemoryInfo memoryInfo() {
    MEMORYSTATUSEX status = {};
    status.dwLength = sizeof status;
    if (!::GlobalMemoryStatusEx(&status)) return {};
    return {static_cast<std::int64_t>(status.ullTotalPhys),
            static_cast<std::int64_t>(status.ullAvailPhys)};
}

} // namespace engine

#else

#    include <algorithm>
#    include <cstdlib>
#    include <fstream>
#    include <string>

namespace engine {

namespace {

// A file that holds one number, or "max". -1 if there is no such number.
std::int64_t numberIn(const std::string& path) {
    std::ifstream file(path);
    std::int64_t value = -1;
    return file >> value ? value : -1;
}

// A value of a file of lines "name number", in its own unit; -1 if absent.
std::int64_t valueOf(const std::string& path, const std::string& wanted) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        if (line.compare(0, wanted.size(), wanted) != 0) continue;
        return std::strtoll(line.c_str() + wanted.size(), nullptr, 10);
    }
    return -1;
}

// The limit of one control group. Its file cache counts as free: it goes when memory is wanted.
void applyGroup(MemoryInfo& info, std::int64_t limit, std::int64_t used, std::int64_t cache) {
    if (limit <= 0 || limit >= info.totalBytes || used < 0) return;
    const std::int64_t free = limit - used + std::max<std::int64_t>(cache, 0);
    info.totalBytes = limit;
    info.freeBytes = std::min(info.freeBytes, std::clamp<std::int64_t>(free, 0, limit));
}

// This process's group in the unified hierarchy, "/" inside most containers.
std::string unifiedGroup() {
    std::ifstream file("/proc/self/cgroup");
    for (std::string line; std::getline(file, line);) {
        if (line.compare(0, 3, "0::") == 0) return line.substr(3);
    }
    return {};
}

} // namespace

MemoryInfo memoryInfo() {
    MemoryInfo info;
    info.totalBytes = std::max<std::int64_t>(valueOf("/proc/meminfo", "MemTotal:"), 0) * 1024;
    info.freeBytes = std::max<std::int64_t>(valueOf("/proc/meminfo", "MemAvailable:"), 0) * 1024;

    // Every group above ours may limit us too; "" is the root.
    std::string group = unifiedGroup();
    while (group.ends_with('/')) group.pop_back();
    for (;;) {
        std::string folder = "/sys/fs/cgroup";
        folder += group;
        applyGroup(info, numberIn(folder + "/memory.max"), numberIn(folder + "/memory.current"),
                   valueOf(folder + "/memory.stat", "inactive_file "));
        if (group.empty()) break;
        group.resize(group.rfind('/') == std::string::npos ? 0 : group.rfind('/'));
    }
    const std::string old = "/sys/fs/cgroup/memory";
    applyGroup(info, numberIn(old + "/memory.limit_in_bytes"),
               numberIn(old + "/memory.usage_in_bytes"),
               valueOf(old + "/memory.stat", "total_inactive_file "));
    return info;
}

} // namespace engine

#endif
