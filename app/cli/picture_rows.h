#pragma once
// Pictures of the command line, as embedding rows.

#include "app/cli/model_run.h"
#include "engine/model/image_patches.h"

#include <filesystem>
#include <memory>
#include <vector>

namespace app {

// Reads, resamples and encodes pictures with one projector. Alpha is dropped as in the reference if
// dropAlpha, otherwise laid over white as in the program. The working memory is that of the largest.
class PictureRows {
public:
    static engine::Result<std::unique_ptr<PictureRows>> open(engine::Backend& backend,
                                                             const std::filesystem::path& projector,
                                                             const std::vector<std::filesystem::path>& pictures,
                                                             float textEps, bool dropAlpha);

    std::size_t count() const { return m_patched.size(); }
    const engine::VisionSpec& spec() const { return m_run->spec(); }
    std::int64_t tokens(std::size_t index) const;
    // The rows of one picture, kept on the host.
    engine::Result<std::vector<float>> encode(std::size_t index);

private:
    explicit PictureRows(engine::Backend& backend) : m_backend(backend) {}
    engine::Backend& m_backend;
    std::unique_ptr<VisionRun> m_run;
    std::vector<engine::PatchedImage> m_patched;
};

} // namespace app
