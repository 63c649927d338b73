#pragma once
// The models opened one by one, below Session: for commands that look at rows of logits, embeddings
// or hidden states instead of writing text.

#include "engine/backend/backend.h"
#include "engine/gguf/gguf_file.h"
#include "engine/model/draft_model.h"
#include "engine/model/text_model.h"
#include "engine/model/vision_model.h"
#include "engine/model/weights.h"
#include "engine/runtime/kv_cache.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace app {

// Copies rows to the host, without gaps.
std::vector<float> hostRows(engine::Backend& backend, engine::Tensor rows);

// The vision tower alone. Its projector's rows pass the norm that the text model gives to
// embeddings.
class VisionRun {
public:
    // maxCells: the largest picture that will be encoded. textEps: of the target's norms.
    static engine::Result<std::unique_ptr<VisionRun>> open(engine::Backend& backend,
                                                           const std::filesystem::path& projector,
                                                           float textEps, int maxCells);
    // For files that are opened without their target: the epsilon of the released one.
    static constexpr float kReleasedEps = 1e-5f;

    engine::VisionModel& model() { return *m_model; }
    const engine::VisionSpec& spec() const { return m_model->spec(); }

private:
    explicit VisionRun(engine::GgufFile file) : m_file(std::move(file)) {}
    engine::GgufFile m_file;
    std::unique_ptr<engine::VisionModel> m_model;
};

// Target and, if wanted, drafter with their caches.
class TextRun {
public:
    struct Setup {
        std::filesystem::path target;
        std::filesystem::path drafter; // empty: none
        std::int64_t contextTokens = 0;
        engine::KvType kvType = engine::KvType::F16;
        int chunk = 64; // rows read at once
    };
    static engine::Result<std::unique_ptr<TextRun>> open(engine::Backend& backend,
                                                         const Setup& setup);

    engine::Backend& backend() { return m_backend; }
    const engine::GgufFile& targetFile() const { return m_targetFile; }
    engine::TextModel& text() { return *m_text; }
    engine::KvCache& cache() { return *m_cache; }
    engine::DraftModel& draft() { return *m_draft; }        // only with a drafter
    engine::KvCache& draftCache() { return *m_draftCache; } // only with a drafter
    bool hasDraft() const { return m_draft != nullptr; }

    struct ImageRows {
        std::int64_t first = 0; // index among the ids of the call
        engine::Tensor rows;
    };
    struct Rows {
        std::vector<float> logits; // [rows wanted, vocabulary]
        std::vector<float> taps;   // [rows, layers tapped * width]
        std::vector<float> hidden; // [rows, width] after the last layer
        std::vector<float> fused;  // [rows, width] the drafter's context rows
    };
    struct Wanted {
        std::int64_t firstLogits = 0; // logits of rows from this index on
        std::vector<int>
            taps; // residual entering these layers; the number of layers: leaving the last
        bool hidden = false;
        bool feedDrafter = false; // appends the drafter's context too
    };
    // Reads ids at the end of the cache and commits them. taps and feedDrafter exclude each other.
    engine::Result<Rows> read(std::span<const std::int32_t> ids, std::span<const ImageRows> images,
                              const Wanted& wanted);
    // One pass over at most chunk rows that is not committed: for verification. The drafter's taps
    // of the rows stay in draftTaps().
    engine::Result<std::vector<float>> verify(std::span<const std::int32_t> ids);
    engine::Tensor draftTaps(std::int64_t rows) const;
    void clear();

private:
    TextRun(engine::Backend& backend, engine::GgufFile file)
        : m_backend(backend), m_targetFile(std::move(file)) {}

    engine::Backend& m_backend;
    engine::GgufFile m_targetFile;
    std::optional<engine::GgufFile> m_draftFile;
    std::unique_ptr<engine::TextModel> m_text;
    std::unique_ptr<engine::KvCache> m_cache;
    std::unique_ptr<engine::DraftModel> m_draft;
    std::unique_ptr<engine::KvCache> m_draftCache;
    engine::Buffer m_taps; // [chunk, (layers + 1) * width], the most that can be asked for
};

} // namespace app
