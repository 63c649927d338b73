#pragma once
// The command line of glint-cli, parsed once for all commands: `--name value`, `--name=value`,
// flags, and plain arguments. What a person types is foreign: every reader checks and answers with
// an Error whose message is one sentence. Texts are UTF-8 on every system.

#include "engine/base/result.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace engine {
class Backend;
struct DraftLength;
enum class KvType;
} // namespace engine

namespace app {

struct BackendWish;

struct OptionSpec {
    std::string_view name;  // "--model"
    std::string_view value; // what stands for its value in --help, "FILE"; empty: a flag
    std::string_view help;  // one line
};

class Options {
public:
    // `specs` are the options the command knows, --help and --json always; anything else that
    // begins with a dash is an error. A later `--name` overrides an earlier one, except for all().
    static engine::Result<Options> parse(std::span<const std::string> arguments,
                                         std::span<const OptionSpec> specs);

    bool has(std::string_view name) const;
    bool json() const { return has("--json"); }
    std::optional<std::string> text(std::string_view name) const;
    std::vector<std::string> all(std::string_view name) const; // of an option given several times
    const std::vector<std::string>& plain() const { return m_plain; } // arguments without a name

    engine::Result<std::int64_t> integer(std::string_view name, std::int64_t fallback,
                                         std::int64_t least, std::int64_t most) const;
    engine::Result<double> number(std::string_view name, double fallback, double least,
                                  double most) const;
    // One of the words; the answer is its index.
    engine::Result<int> choice(std::string_view name, int fallback,
                               std::span<const std::string_view> words) const;
    // The value as a path; an Error if the option is missing.
    engine::Result<std::filesystem::path> path(std::string_view name) const;

private:
    struct Given {
        std::string name;
        std::string value;
    };
    std::vector<Given> m_given;
    std::vector<std::string> m_plain;
};

// Few digits, without trailing zeros: 0.95, 100.
std::string shortNumber(double value);
// "1 2 3", separated by blanks, commas or brackets, each 0 .. 2^31-1.
engine::Result<std::vector<std::int32_t>> parseIds(std::string_view text);
// The whole of a file, or of the standard input.
engine::Result<std::string> readTextFile(const std::filesystem::path& path);
std::string readStandardInput();

// ---- what several commands take

engine::Result<engine::DraftLength> draftLengthOption(const Options& options); // --draft-len
// One option per parameter of the samplers' table: "top_k" is --top-k, "temperature" --temp.
std::string samplerOption(std::string_view key);
std::vector<OptionSpec> samplerOptionSpecs();

// ---- what every command that computes takes: --math, --kv, --threads, --backend

std::span<const OptionSpec> computeOptionSpecs();
// A command's own options followed by the ones above.
std::vector<OptionSpec> withComputeOptions(std::vector<OptionSpec> own);
engine::Result<BackendWish> backendWishOption(const Options& options);
// Says on standard error why a card that is there is not used.
engine::Result<std::unique_ptr<engine::Backend>> openBackend(const Options& options);
void sayWhyNotCard(const std::string& whyNotCard); // nothing for an empty reason
engine::Result<engine::KvType> kvTypeOption(const Options& options);

} // namespace app
