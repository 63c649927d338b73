#pragma once
// Sizes in messages, in decimal units as file managers show them.

#include <cstdint>
#include <string>

namespace engine {

// "512 bytes", "1.85 MB", "16.76 GB"
std::string sizeText(std::int64_t bytes);

// "0.90 of 1.63 GB": both in the unit of the second.
std::string sizeOfText(std::int64_t part, std::int64_t whole);

// With commas between thousands: "202,048".
std::string countText(std::uint64_t count);

} // namespace engine
