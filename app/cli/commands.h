#pragma once
// The commands of glint-cli. To add one: app/cli/commands/NAME.cpp defines its Command, one line
// below declares it, and one row of the table in commands.cpp lists it.

#include "app/cli/options.h"

#include <span>
#include <string_view>
#include <vector>

namespace app {

struct Command {
    std::string_view name;
    std::string_view summary;   // one line for `glint-cli --help`
    std::string_view arguments; // the usage line after the name: "--model FILE [--special]"
    std::vector<OptionSpec> options;
    // The exit code, 0 for success. An Error is printed on stderr as one sentence and ends with
    // code 2 (1 for a fault of ours or of the machine). With --json the result is one JSON value on
    // stdout.
    engine::Result<int> (*run)(const Options& options) = nullptr;
};

extern const Command kBench;
extern const Command kEmbedImage;
extern const Command kFixture;
extern const Command kInspect;
extern const Command kLogits;
extern const Command kRender;
extern const Command kRun;
extern const Command kTokenize;

// In the order of the help text.
std::span<const Command* const> commands();

} // namespace app
