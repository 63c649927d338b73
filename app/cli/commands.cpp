#include "app/cli/commands.h"

namespace app {

std::span<const Command* const> commands() {
    // A row is added together with its file in app/cli/commands.
    static const std::vector<const Command*> table = {
        &kEmbedImage,
        &kFixture,
        &kInspect,
        &kLogits,
        &kRender,
        &kTokenize,
    };
    return table;
}

} // namespace app
