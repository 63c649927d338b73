#include "app/cli/commands.h"

namespace app {

std::span<const Command* const> commands() {
    // A row is added together with its file in app/cli/commands.
    static const std::vector<const Command*> table = {
        &kRun, &kBench, &kInspect, &kTokenize, &kRender, &kLogits, &kEmbedImage, &kFixture,
    };
    return table;
}

} // namespace app
