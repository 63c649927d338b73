// glint-cli fixture DIR…: compares everything in oracle folders, one line per check.

#include "app/cli/commands.h"
#include "app/cli/fixture/checks.h"
#include "engine/base/path_text.h"

#include <nlohmann/json.hpp>

#include <cstdio>

namespace app {

using engine::Error;
using engine::ErrorCode;
using engine::Result;

namespace {

Result<int> run(const Options& options) {
    if (options.plain().empty())
        return Error{ErrorCode::InvalidFile, "say which oracle folders to compare with"};
    fixture::Arithmetic arithmetic;
    static constexpr std::string_view kMath[] = {"float", "int8"};
    auto math = options.choice("--math", 1, kMath);
    if (!math) return math.error();
    arithmetic.int8 = *math == 1;
    auto kvType = kvTypeOption(options);
    if (!kvType) return kvType.error();
    arithmetic.kvType = *kvType;
    nlohmann::json folders = nlohmann::json::array();
    std::size_t failures = 0;
    for (const std::string& argument : options.plain()) {
        const std::filesystem::path path = engine::pathFromUtf8(argument);
        if (auto folder = fixture::Folder::open(path); !folder)
            return withContext(folder.error(), argument);
        if (!options.json()) std::printf("# %s\n", argument.c_str());
        nlohmann::json lines = nlohmann::json::array();
        fixture::Report report([&](const fixture::Check& check) {
            if (!options.json()) {
                std::printf("%s\n", fixture::line(check).c_str());
                std::fflush(stdout);
            }
            lines.push_back({{"name", check.name},
                             {"passed", check.passed},
                             {"measured", check.measured},
                             {"bound", check.bound}});
        });
        auto backend = openBackend(options);
        if (!backend) return backend.error();
        fixture::compareParts(path, **backend, arithmetic, report);
        fixture::compareSession(path, std::move(*backend), arithmetic, report);
        failures += report.failures();
        folders.push_back({{"folder", argument}, {"passed", report.passed()}, {"checks", lines}});
        if (!options.json())
            std::printf("# %zu checks, %zu failed\n", report.checks().size(), report.failures());
    }
    if (options.json()) std::printf("%s\n", folders.dump(2).c_str());
    return failures == 0 ? 0 : 1;
}

} // namespace

const Command kFixture = {
    "fixture",
    "compare this engine with the reference values of oracle folders",
    "DIR... [--math float|int8] [--kv f32|f16|q8_0] [--threads N]",
    withComputeOptions({}),
    run,
};

} // namespace app
