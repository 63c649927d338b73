// glint-cli: the engine without a window. Finds the command, parses its options, prints its error.

#include "app/cli/commands.h"
#include "engine/base/path_text.h"

#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <vector>

#ifdef _WIN32
#    include <windows.h>

#    include <fcntl.h>
#    include <io.h>
#    include <shellapi.h>
#endif

namespace app {
namespace {

constexpr int kExitFault = 1;    // ours, or the machine's
constexpr int kExitBadInput = 2; // what was typed, or a file

std::vector<std::string> utf8Arguments([[maybe_unused]] int count, [[maybe_unused]] char** values) {
    std::vector<std::string> out;
#ifdef _WIN32
    int wideCount = 0;
    LPWSTR* wide = CommandLineToArgvW(GetCommandLineW(), &wideCount);
    for (int i = 1; wide && i < wideCount; ++i) {
        out.push_back(engine::pathToUtf8(std::filesystem::path(wide[i])));
    }
    LocalFree(wide);
#else
    for (int i = 1; i < count; ++i) out.emplace_back(values[i]);
#endif
    return out;
}

void printOption(const OptionSpec& option) {
    std::string left(option.name);
    if (!option.value.empty()) left += " " + std::string(option.value);
    std::printf("  %-24s %.*s\n", left.c_str(), int(option.help.size()), option.help.data());
}

void printHelp() {
    std::printf("Glint's engine without a window.\n\nglint-cli COMMAND [options]\n\n");
    for (const Command* command : commands()) {
        std::printf("  %-14s %.*s\n", std::string(command->name).c_str(),
                    int(command->summary.size()), command->summary.data());
    }
    std::printf(
        "\nglint-cli COMMAND --help lists the options of a command; --json makes its output one "
        "JSON value.\nExit code: 0 success, 1 a fault, 2 bad input.\n");
}

void printHelp(const Command& command) {
    std::printf("%.*s\n\nglint-cli %.*s %.*s\n\n", int(command.summary.size()),
                command.summary.data(), int(command.name.size()), command.name.data(),
                int(command.arguments.size()), command.arguments.data());
    for (const OptionSpec& option : command.options) printOption(option);
    printOption({"--json", "", "one JSON value on the standard output"});
    printOption({"--help", "", "this text"});
}

int fail(const engine::Error& error) {
    std::string sentence = error.message;
    if (sentence.empty()) sentence = "something went wrong";
    if (sentence.back() != '.' && sentence.back() != '?') sentence += '.';
    std::fprintf(stderr, "glint-cli: %s\n", sentence.c_str());
    switch (error.code) {
    case engine::ErrorCode::Internal:
    case engine::ErrorCode::Device:
    case engine::ErrorCode::Cancelled: return kExitFault;
    default: return kExitBadInput;
    }
}

int runMain(const std::vector<std::string>& arguments) {
    if (arguments.empty()) {
        return fail(
            {engine::ErrorCode::InvalidFile, "say which command; glint-cli --help lists them"});
    }
    if (arguments[0] == "--help" || arguments[0] == "-h" || arguments[0] == "help") {
        printHelp();
        return 0;
    }
    const Command* command = nullptr;
    for (const Command* candidate : commands()) {
        if (candidate->name == arguments[0]) command = candidate;
    }
    if (!command) {
        return fail({engine::ErrorCode::InvalidFile,
                     "there is no command \"" + arguments[0] + "\"; glint-cli --help lists them"});
    }
    auto options = Options::parse(std::span(arguments).subspan(1), command->options);
    if (!options) return fail(options.error());
    if (options->has("--help")) {
        printHelp(*command);
        return 0;
    }
    auto code = command->run(*options);
    const bool written = std::fflush(stdout) == 0 && !std::ferror(stdout);
    if (!code) return fail(code.error());
    if (!written) return fail({engine::ErrorCode::Internal, "the output could not be written"});
    return *code;
}

} // namespace
} // namespace app

int main(int argc, char** argv) {
#ifdef _WIN32
    SetConsoleOutputCP(CP_UTF8);
    _setmode(_fileno(stdout), _O_BINARY);
    _setmode(_fileno(stdin), _O_BINARY);
#endif
    // The engine throws nothing; the standard library and the JSON library may.
    try {
        return app::runMain(app::utf8Arguments(argc, argv));
    } catch (const std::bad_alloc&) {
        return app::fail({engine::ErrorCode::OutOfMemory, "there is not enough memory for this"});
    } catch (const std::exception& exception) {
        return app::fail({engine::ErrorCode::Internal, exception.what()});
    }
}
