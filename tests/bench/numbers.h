#pragma once
// Lists of numbers as options of measuring programs.

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

// "1,8,16", each between `least` and `most`.
inline std::vector<int> numbers(const char* text, int least, int most) {
    std::vector<int> all;
    for (; text; text = std::strchr(text, ',')) {
        if (*text == ',') ++text;
        all.push_back(std::clamp(std::atoi(text), least, most));
    }
    return all;
}
