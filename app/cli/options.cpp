#include "app/cli/options.h"

#include "engine/base/path_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>

namespace app {

using engine::Error;
using engine::ErrorCode;
using engine::Result;

namespace {

Error badInput(std::string message) {
    return {ErrorCode::InvalidFile, std::move(message)};
}

std::string inQuotes(std::string_view text) {
    return "\"" + std::string(text) + "\"";
}

} // namespace

std::string shortNumber(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%g", value);
    return text;
}

Result<Options> Options::parse(std::span<const std::string> arguments,
                               std::span<const OptionSpec> specs) {
    Options out;
    const auto findSpec = [&](std::string_view name) -> const OptionSpec* {
        static constexpr OptionSpec kAlways[] = {{"--json", "", ""}, {"--help", "", ""}};
        for (const OptionSpec& spec : kAlways) {
            if (spec.name == name) return &spec;
        }
        for (const OptionSpec& spec : specs) {
            if (spec.name == name) return &spec;
        }
        return nullptr;
    };
    bool onlyPlain = false;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::string& argument = arguments[i];
        if (!onlyPlain && argument == "--") {
            onlyPlain = true;
            continue;
        }
        if (onlyPlain || argument.size() < 2 || argument[0] != '-') {
            out.m_plain.push_back(argument);
            continue;
        }
        const std::size_t equals = argument.find('=');
        const std::string name = argument == "-h" ? "--help" : argument.substr(0, equals);
        const OptionSpec* spec = findSpec(name);
        if (!spec) return badInput("the option " + inQuotes(name) + " is not known here");
        Given given{name, {}};
        if (spec->value.empty()) {
            if (equals != std::string::npos) return badInput(name + " takes no value");
        } else if (equals != std::string::npos) {
            given.value = argument.substr(equals + 1);
        } else if (i + 1 < arguments.size()) {
            given.value = arguments[++i];
        } else {
            return badInput(name + " needs a value: " + std::string(spec->value));
        }
        out.m_given.push_back(std::move(given));
    }
    return out;
}

bool Options::has(std::string_view name) const {
    return std::any_of(m_given.begin(), m_given.end(),
                       [&](const Given& g) { return g.name == name; });
}

std::optional<std::string> Options::text(std::string_view name) const {
    for (auto it = m_given.rbegin(); it != m_given.rend(); ++it) {
        if (it->name == name) return it->value;
    }
    return std::nullopt;
}

std::vector<std::string> Options::all(std::string_view name) const {
    std::vector<std::string> out;
    for (const Given& given : m_given) {
        if (given.name == name) out.push_back(given.value);
    }
    return out;
}

Result<std::int64_t> Options::integer(std::string_view name, std::int64_t fallback,
                                      std::int64_t least, std::int64_t most) const {
    const auto given = text(name);
    if (!given) return fallback;
    std::int64_t value = 0;
    const char* end = given->data() + given->size();
    const auto [stop, error] = std::from_chars(given->data(), end, value);
    if (error != std::errc() || stop != end || value < least || value > most) {
        return badInput(std::string(name) + " takes a whole number from " + std::to_string(least) +
                        " to " + std::to_string(most) + ", not " + inQuotes(*given));
    }
    return value;
}

Result<double> Options::number(std::string_view name, double fallback, double least,
                               double most) const {
    const auto given = text(name);
    if (!given) return fallback;
    // A stream in the classic locale: from_chars for double came late to the standard libraries.
    std::istringstream stream(*given);
    stream.imbue(std::locale::classic());
    double value = 0;
    if (!(stream >> value) || stream.peek() != std::istringstream::traits_type::eof() ||
        !std::isfinite(value) || value < least || value > most) {
        return badInput(std::string(name) + " takes a number from " + shortNumber(least) + " to " +
                        shortNumber(most) + ", not " + inQuotes(*given));
    }
    return value;
}

Result<int> Options::choice(std::string_view name, int fallback,
                            std::span<const std::string_view> words) const {
    const auto given = text(name);
    if (!given) return fallback;
    std::string list;
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (words[i] == *given) return int(i);
        list += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + std::string(words[i]);
    }
    return badInput(std::string(name) + " takes " + list + ", not " + inQuotes(*given));
}

Result<std::filesystem::path> Options::path(std::string_view name) const {
    const auto given = text(name);
    if (!given) return badInput(std::string(name) + " is missing");
    if (given->empty()) return badInput(std::string(name) + " is empty");
    return engine::pathFromUtf8(*given);
}

Result<std::vector<std::int32_t>> parseIds(std::string_view text) {
    constexpr std::string_view kBetween = " \t\r\n,[]";
    std::vector<std::int32_t> out;
    std::size_t at = 0;
    while ((at = text.find_first_not_of(kBetween, at)) != std::string_view::npos) {
        const std::size_t end = std::min(text.find_first_of(kBetween, at), text.size());
        const std::string_view word = text.substr(at, end - at);
        std::int32_t id = 0;
        const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), id);
        if (error != std::errc() || stop != word.data() + word.size() || id < 0) {
            return badInput(inQuotes(word.substr(0, 40)) + " is not a token id");
        }
        out.push_back(id);
        at = end;
    }
    return out;
}

Result<std::string> readTextFile(const std::filesystem::path& path) {
    std::error_code error;
    if (std::filesystem::is_directory(path, error)) {
        return Error{ErrorCode::Io, engine::pathToUtf8(path) + " is a folder, not a file"};
    }
    std::ifstream file(path, std::ios::binary);
    if (!file) return Error{ErrorCode::Io, engine::pathToUtf8(path) + " cannot be opened"};
    std::string out{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    if (file.bad()) return Error{ErrorCode::Io, engine::pathToUtf8(path) + " cannot be read"};
    return out;
}

std::string readStandardInput() {
    return std::string{std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
}

} // namespace app
