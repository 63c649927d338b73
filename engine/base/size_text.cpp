#include "engine/base/size_text.h"

#include <cstdio>

namespace engine {

namespace {

struct Unit {
    double bytes;
    const char* name;
    int decimals;
};

Unit unitFor(std::int64_t bytes) {
    if (bytes >= 1'000'000'000) return {1e9, "GB", 2};
    if (bytes >= 1'000'000) return {1e6, "MB", 2};
    if (bytes >= 10'000) return {1e3, "kB", 1};
    return {1, "bytes", 0};
}

std::string inUnit(std::int64_t bytes, const Unit& unit) {
    char text[48];
    std::snprintf(text, sizeof text, "%.*f", unit.decimals,
                  static_cast<double>(bytes) / unit.bytes);
    return text;
}

} // namespace

std::string sizeText(std::int64_t bytes) {
    const Unit unit = unitFor(bytes);
    return inUnit(bytes, unit) + " " + unit.name;
}

std::string sizeOfText(std::int64_t part, std::int64_t whole) {
    const Unit unit = unitFor(whole);
    return inUnit(part, unit) + " of " + inUnit(whole, unit) + " " + unit.name;
}

std::string countText(std::uint64_t count) {
    std::string digits = std::to_string(count);
    for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, 1, ',');
    return digits;
}

} // namespace engine
