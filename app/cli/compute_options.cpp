// The options of every command that computes.

#include "app/cli/options.h"
#include "engine/runtime/kv_cache.h"

namespace app {

using engine::Result;

std::span<const OptionSpec> computeOptionSpecs() {
    static constexpr OptionSpec kSpecs[] = {
        {"--math", "float|int8", "arithmetic: plain float, or the integer scheme (default int8)"},
        {"--kv", "f32|f16|q8_0", "how keys and values are kept (default f16)"},
        {"--threads", "N", "threads that compute (default: one per core)"},
        {"--backend", "cpu|cuda|auto", "where to compute (default auto)"},
    };
    return kSpecs;
}

std::vector<OptionSpec> withComputeOptions(std::vector<OptionSpec> own) {
    for (const OptionSpec& spec : computeOptionSpecs()) own.push_back(spec);
    return own;
}

Result<engine::KvType> kvTypeOption(const Options& options) {
    static constexpr std::string_view kWords[] = {"f32", "f16", "q8_0"};
    static constexpr engine::KvType kTypes[] = {engine::KvType::F32, engine::KvType::F16,
                                                engine::KvType::Q8_0};
    auto index = options.choice("--kv", 1, kWords);
    if (!index) return index.error();
    return kTypes[*index];
}

} // namespace app
