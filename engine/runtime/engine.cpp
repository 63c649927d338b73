#include "engine/runtime/engine.h"

#include "engine/base/log.h"
#include "engine/gguf/gguf_file.h"
#include "engine/model/buffer_layout.h"
#include "engine/model/draft_model.h"
#include "engine/model/image_patches.h"
#include "engine/model/model_file.h"
#include "engine/model/text_model.h"
#include "engine/model/vision_model.h"
#include "engine/model/weights.h"
#include "engine/runtime/draft_cycle.h"
#include "engine/runtime/session.h"
#include "engine/token/tokenizer.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <random>

namespace engine {

// In the order of construction; what comes later uses what comes earlier.
struct Engine::State {
    std::unique_ptr<Backend> backend;
    std::shared_ptr<const GgufFile> targetFile; // rows of the embedding table may be read from it
    std::optional<Tokenizer> tokenizer;
    TextSpec textSpec;
    std::optional<VisionSpec> visionSpec;
    std::optional<DraftSpec> draftSpec;
    std::string modelKey;
    PlacementPlan plan;
    MemoryByPart memory;
    SharedMemory shared; // working memory: pictures are read before the words around them
    std::unique_ptr<TextModel> text;
    std::unique_ptr<VisionModel> vision;
    std::unique_ptr<DraftModel> draft;
    std::unique_ptr<DraftCycle> cycle;
    std::unique_ptr<Session> session;
};

namespace {

struct OpenFile {
    std::shared_ptr<const GgufFile> file;
    ModelFileInfo info;
    std::string name; // for messages
};

std::string fileName(const std::filesystem::path& path) {
    const std::u8string name = path.filename().u8string();
    return std::string(name.begin(), name.end());
}

Result<OpenFile> openAs(const std::filesystem::path& path, FileRole role, std::string_view place) {
    const std::string name = fileName(path);
    auto file = GgufFile::open(path);
    if (!file) return withContext(file.error(), name);
    OpenFile out;
    out.name = name;
    out.file = std::make_shared<const GgufFile>(std::move(*file));
    out.info = describeModelFile(*out.file);
    if (out.info.role != role) {
        return Error{ErrorCode::InvalidFile,
                     name + " cannot be used as " + std::string(place) + ": " + out.info.sentence};
    }
    if (!out.info.usable()) return Error{ErrorCode::InvalidFile, name + ": " + out.info.sentence};
    return out;
}

// 64-bit FNV-1a: names contents, protects nothing.
class ContentHash {
public:
    void add(std::span<const std::byte> bytes) {
        for (const std::byte b : bytes) m_state = (m_state ^ std::uint64_t(b)) * 0x100000001b3u;
    }
    void add(std::int64_t value) { add(std::as_bytes(std::span(&value, 1))); }
    void add(std::string_view text) { add(std::as_bytes(std::span(text))); }
    std::string hex() const {
        static constexpr char kDigits[] = "0123456789abcdef";
        std::string out(16, '0');
        for (int i = 0; i < 16; ++i) out[std::size_t(i)] = kDigits[(m_state >> (60 - 4 * i)) & 15];
        return out;
    }

private:
    std::uint64_t m_state = 0xcbf29ce484222325u;
};

// From the names, shapes and types of all tensors and a little of the data of each: reading the
// whole file would take as long as loading it.
std::string contentKey(const GgufFile& file) {
    constexpr std::size_t kSample = 64;
    ContentHash hash;
    hash.add(file.presentBytes());
    for (const GgufTensor& tensor : file.tensors()) {
        hash.add(tensor.name);
        hash.add(std::int64_t(tensor.type()));
        for (const std::int64_t n : tensor.ne) hash.add(n);
        hash.add(tensor.bytes.first(std::min(kSample, tensor.bytes.size())));
    }
    return hash.hex();
}

std::string mebibytes(std::int64_t bytes) {
    return std::to_string((bytes + (std::int64_t(1) << 20) - 1) >> 20) + " MiB";
}

std::int64_t tensorBytes(const GgufFile& file) {
    std::int64_t bytes = 0;
    for (const GgufTensor& tensor : file.tensors()) bytes += tensor.sizeBytes;
    return bytes;
}

Error cancelled() {
    return {ErrorCode::Cancelled, "loading was stopped"};
}

} // namespace

Engine::Engine() : m(std::make_unique<State>()) {}
Engine::~Engine() = default;

Result<std::unique_ptr<Engine>> Engine::load(std::unique_ptr<Backend> backend,
                                             const ModelFiles& files, const EngineOptions& options,
                                             const LoadSink& progress, std::stop_token stop) {
    CHECK(backend && options.prefillChunk >= 0 && options.contextTokens >= 0);
    try {
        std::unique_ptr<Engine> engine(new Engine);
        if (auto done = engine->loadParts(std::move(backend), files, options, progress, stop);
            !done) {
            return done.error();
        }
        return engine;
    } catch (const std::bad_alloc&) {
        return Error{ErrorCode::OutOfMemory, "there is not enough memory for this model"};
    }
}

Result<void> Engine::loadParts(std::unique_ptr<Backend> backend, const ModelFiles& files,
                               const EngineOptions& options, const LoadSink& progress,
                               std::stop_token stop) {
    const auto say = [&](std::string_view phase, std::int64_t done, std::int64_t total) {
        if (progress) progress({std::string(phase), done, total});
    };
    State& s = *m;
    s.backend = std::move(backend);
    const int chunk = options.prefillChunk > 0 ? options.prefillChunk : s.backend->rowsPerRead();
    say("Opening the files", 0, 0);

    // ---- the files, and whether they belong together
    auto target = openAs(files.target, FileRole::Target, "the model");
    if (!target) return target.error();
    auto textSpec = TextSpec::read(*target->file);
    if (!textSpec) return withContext(textSpec.error(), target->name);
    s.textSpec = std::move(*textSpec);
    auto tokenizer = Tokenizer::read(*target->file);
    if (!tokenizer) return withContext(tokenizer.error(), target->name);
    s.tokenizer.emplace(std::move(*tokenizer));
    for (const std::string& warning : s.tokenizer->warnings()) log(LogLevel::Warning, warning);
    if (s.tokenizer->size() != s.textSpec.vocabulary) {
        return Error{ErrorCode::InvalidFile,
                     target->name + ": its vocabulary and its embedding table differ in size"};
    }
    s.targetFile = target->file;
    s.modelKey = contentKey(*target->file);

    std::optional<OpenFile> projector;
    if (!files.projector.empty()) {
        auto opened = openAs(files.projector, FileRole::Projector, "the vision part");
        if (!opened) return opened.error();
        if (auto match = checkMatch(target->info, opened->info); !match) {
            return withContext(match.error(), opened->name);
        }
        auto spec = VisionSpec::read(*opened->file);
        if (!spec) return withContext(spec.error(), opened->name);
        s.visionSpec = *spec;
        projector = std::move(*opened);
    }
    std::optional<OpenFile> drafter;
    if (!files.drafter.empty()) {
        auto opened = openAs(files.drafter, FileRole::Drafter, "the drafter");
        if (!opened) return opened.error();
        if (auto match = checkMatch(target->info, opened->info); !match) {
            return withContext(match.error(), opened->name);
        }
        auto spec = DraftSpec::read(*opened->file, s.textSpec);
        if (!spec) return withContext(spec.error(), opened->name);
        s.draftSpec = std::move(*spec);
        drafter = std::move(*opened);
    }

    // ---- what lives where
    if (s.textSpec.contextLimit > 0 && options.contextTokens > s.textSpec.contextLimit) {
        return Error{ErrorCode::Unsupported,
                     "the model reads at most " + std::to_string(s.textSpec.contextLimit) +
                         " tokens; a context of " + std::to_string(options.contextTokens) +
                         " was asked for"};
    }
    const MemoryState memory = s.backend->memory();
    PlacementInput input;
    input.text = s.textSpec;
    input.vision = s.visionSpec;
    input.draft = s.draftSpec;
    input.modelBytes = target->file->presentBytes();
    if (!s.backend->sharesFileMemory()) {
        if (const GgufTensor* table = target->file->tensor("token_embd.weight"))
            input.modelBytes -= table->sizeBytes;
    }
    input.visionBytes = projector ? projector->file->presentBytes() : 0;
    input.draftBytes = drafter ? drafter->file->presentBytes() : 0;
    input.freeBytes = options.checkMemory ? memory.freeBytes : 0;
    input.totalBytes = memory.totalBytes;
    input.kvType = options.kvType;
    input.prefillChunk = chunk;
    s.plan = planFor(input, options.contextTokens, projector.has_value(), drafter.has_value());
    if (!s.plan.fits) {
        return Error{ErrorCode::OutOfMemory, "this needs " + mebibytes(s.plan.memory.total()) +
                                                 " of memory, and " + mebibytes(memory.freeBytes) +
                                                 " are free"};
    }

    // ---- weights
    const std::int64_t total = tensorBytes(*target->file) +
                               (projector ? tensorBytes(*projector->file) : 0) +
                               (drafter ? tensorBytes(*drafter->file) : 0);
    std::int64_t before = 0; // bytes of the files that are done
    const auto loading = [&](std::string_view phase) {
        say(phase, before, total);
        return [&, phase](std::int64_t done) { say(phase, before + done, total); };
    };
    auto textWeights = TextWeights::load(*s.backend, *target->file, s.textSpec,
                                         loading("Reading the model"), stop);
    if (!textWeights) return withContext(textWeights.error(), target->name);
    const int passRows = std::max(chunk, DraftCycle::kMaxRows);
    auto text = TextModel::make(*s.backend, s.textSpec, *textWeights, passRows, &s.shared);
    if (!text) return text.error();
    s.text = std::move(*text);
    // The file's pages, or what the backend made of them.
    const auto taken = [&](std::int64_t fileBytes, std::int64_t deviceBytes) {
        return s.backend->sharesFileMemory() ? std::max(fileBytes, deviceBytes) : deviceBytes;
    };
    s.memory.model = taken(input.modelBytes, (*textWeights)->deviceBytes);
    before += tensorBytes(*target->file);

    if (projector) {
        auto weights = VisionWeights::load(*s.backend, *projector->file, *s.visionSpec,
                                           loading("Reading the vision part"), stop);
        if (!weights) return withContext(weights.error(), projector->name);
        auto made = VisionModel::make(*s.backend, *s.visionSpec, *weights, s.textSpec.eps,
                                      s.visionSpec->maxCells, &s.shared);
        if (!made) return made.error();
        s.vision = std::move(*made);
        before += tensorBytes(*projector->file);
        s.memory.vision = taken(input.visionBytes, (*weights)->deviceBytes);
    }
    const int contextRows = DraftCycle::contextRows(chunk);
    if (drafter) {
        auto weights = DraftWeights::load(*s.backend, *drafter->file, *s.draftSpec,
                                          loading("Reading the drafter"), stop);
        if (!weights) return withContext(weights.error(), drafter->name);
        auto made =
            DraftModel::make(*s.backend, *s.draftSpec, *weights, *s.text, contextRows, &s.shared);
        if (!made) return made.error();
        s.draft = std::move(*made);
        s.memory.draft = taken(input.draftBytes, (*weights)->deviceBytes);
        before += tensorBytes(*drafter->file);
    }

    // ---- caches, then the working memory that all have asked for
    DraftCycle::Parts parts;
    parts.shared = &s.shared;
    parts.backend = s.backend.get();
    parts.target = s.text.get();
    parts.drafter = s.draft.get();
    parts.maxRows = chunk;
    auto cache = KvCache::make(
        *s.backend, targetKvShape(s.textSpec, s.plan.contextTokens, chunk, options.kvType));
    if (!cache) return cache.error();
    parts.cache = std::move(*cache);
    const AttentionShape attention{s.textSpec.heads, s.textSpec.kvHeads, s.textSpec.headSize};
    if (auto done = s.backend->prepareAttention(attention, s.plan.contextTokens); !done)
        return done.error();
    s.memory.conversation = parts.cache->shape().totalBytes();
    if (s.draft) {
        auto made =
            KvCache::make(*s.backend, DraftModel::kvShape(*s.draftSpec, s.plan.contextTokens,
                                                          contextRows, options.kvType));
        if (!made) return made.error();
        parts.draftCache = std::move(*made);
        s.memory.draft += parts.draftCache->shape().totalBytes();
        const DraftSpec& d = *s.draftSpec; // a block of drafts lies behind the conversation
        if (auto done = s.backend->prepareAttention({d.heads, d.kvHeads, d.headSize},
                                                    s.plan.contextTokens + d.blockSize);
            !done)
            return done.error();
    }
    auto cycle = DraftCycle::make(std::move(parts));
    if (!cycle) return cycle.error();
    s.cycle = std::move(*cycle);
    if (auto done = s.shared.allocate(*s.backend, "working memory of the model"); !done)
        return done.error();
    s.memory.working = s.shared.bytes();
    if (s.draft) s.memory.draft += s.cycle->workingBytes();

    // ---- one real step of everything, so that nothing fails or is slow for the first time in an
    // answer
    if (stop.stop_requested()) return cancelled();
    say("Trying it out", total, total);
    if (auto done = s.cycle->warmUp(s.tokenizer->special().beginOfText, stop); !done) {
        return withContext(done.error(), target->name);
    }
    if (s.vision) {
        RgbImage grey;
        grey.width = grey.height = s.visionSpec->cellPixels();
        grey.pixels.assign(std::size_t(3) * std::size_t(grey.width) * std::size_t(grey.height),
                           128);
        if (auto rows = s.vision->encode(cutPatches(grey, *s.visionSpec), stop); !rows) {
            return withContext(rows.error(), projector->name);
        }
    }
    if (auto done = s.backend->synchronize(); !done) return done.error();

    Session::Parts lent;
    lent.backend = s.backend.get();
    lent.tokenizer = &*s.tokenizer;
    lent.vision = s.vision.get();
    lent.cycle = s.cycle.get();
    lent.vocabulary = s.textSpec.vocabulary;
    lent.placeBytes = s.plan.placeBytes;
    lent.pictureBytes = s.plan.pictureBytes;
    s.session.reset(new Session(lent));
    return {};
}

const Tokenizer& Engine::tokenizer() const {
    return *m->tokenizer;
}
const TextSpec& Engine::text() const {
    return m->textSpec;
}
const VisionSpec* Engine::vision() const {
    return m->visionSpec ? &*m->visionSpec : nullptr;
}
const DraftSpec* Engine::draft() const {
    return m->draftSpec ? &*m->draftSpec : nullptr;
}
const std::string& Engine::modelKey() const {
    return m->modelKey;
}
std::int64_t Engine::contextTokens() const {
    return m->plan.contextTokens;
}
const PlacementPlan& Engine::plan() const {
    return m->plan;
}
Backend& Engine::backend() {
    return *m->backend;
}
Session& Engine::session() {
    return *m->session;
}
DraftCycle& Engine::cycle() {
    return *m->cycle;
}

Result<double> Engine::timePicture(PixelSize size, std::stop_token stop) {
    if (!m->vision) return 0.0;
    RgbImage noise;
    noise.width = size.width;
    noise.height = size.height;
    std::mt19937 random(1);
    noise.pixels.resize(std::size_t(3) * std::size_t(size.width) * std::size_t(size.height));
    for (std::uint8_t& value : noise.pixels) value = std::uint8_t(random());
    const VisionSpec& spec = *m->visionSpec;
    const PatchedImage patches =
        cutPatches(resampleLanczos(noise, gridSize(size, spec.cellPixels(), spec.maxCells)), spec);
    const auto now = [] {
        return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
            .count();
    };
    if (auto done = m->cycle->leaveSharedMemory(); !done) return done.error();
    const double start = now();
    if (auto rows = m->vision->encode(patches, stop); !rows) return rows.error();
    if (auto done = m->backend->synchronize(); !done) return done.error();
    return now() - start;
}

MemoryByPart Engine::memory() const {
    // Places and pictures come and go.
    MemoryByPart memory = m->memory;
    memory.conversation += m->session->placesBytes();
    memory.vision += m->session->picturesBytes();
    return memory;
}

} // namespace engine
