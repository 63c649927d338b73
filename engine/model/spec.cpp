#include "engine/model/spec.h"

#include "engine/gguf/gguf_file.h"
#include "engine/gguf/gguf_keys.h"
#include "engine/model/model_file.h"

#include <cmath>
#include <optional>

namespace engine {

namespace {

// Far above anything that exists, and small enough that no product of two of them overflows.
constexpr std::int64_t kMaxLayers = 1024;
constexpr std::int64_t kMaxWidth = 1 << 20;
constexpr std::int64_t kMaxHeads = 4096;
constexpr std::int64_t kMaxHeadSize = 4096;
constexpr std::int64_t kMaxPositions = 1 << 26;
constexpr std::int64_t kMaxVocabulary = 1 << 24;
constexpr std::int64_t kMaxTaps = 64;
constexpr std::int64_t kMaxBlock =
    32; // rows that the target verifies at once: TextModel::kMaxLogitRows
constexpr std::int64_t kDefaultPeriod = 4;

// Reads values of one architecture and remembers the first error, so that reading stays a list.
class KeyReader {
public:
    KeyReader(const GgufFile& file, std::string_view architecture)
        : m_file(file), m_architecture(architecture) {}

    std::string key(std::string_view name) const { return keys::archKey(m_architecture, name); }

    std::int64_t integer(std::string_view name, std::int64_t least, std::int64_t most) {
        return take(m_file.integer(key(name), least, most), std::int64_t(0));
    }
    int small(std::string_view name, std::int64_t least, std::int64_t most) {
        return static_cast<int>(integer(name, least, most));
    }
    double number(std::string_view name, double least, double most) {
        return take(m_file.number(key(name), least, most), 0.0);
    }
    template<class T> T take(Result<T> result, T fallback) {
        if (result) return std::move(*result);
        fail(result.error());
        return fallback;
    }
    void fail(Error error) {
        if (!m_error) m_error = std::move(error);
    }
    void require(bool condition, const std::string& message) {
        if (!condition) fail({ErrorCode::InvalidFile, message});
    }
    const std::optional<Error>& error() const { return m_error; }
    bool ok() const { return !m_error; }

private:
    const GgufFile& m_file;
    std::string_view m_architecture;
    std::optional<Error> m_error;
};

std::string str(std::int64_t value) {
    return std::to_string(value);
}

// Which layers are sliding. The official file has one bool per layer; others write integers, a
// shorter array that repeats, the period alone (the last of each period is full), or nothing, which
// means a period of 4.
std::vector<bool> slidingLayers(const GgufFile& file, KeyReader& reader, int layers) {
    std::vector<bool> sliding(static_cast<std::size_t>(layers));
    const std::string key = reader.key(keys::kSlidingPattern);
    const GgufKey* found = file.find(key);
    if (found && found->array) {
        const auto pattern = reader.take(file.integers(key, kMaxLayers), {});
        reader.require(!reader.ok() || !pattern.empty(), key + " is an empty list");
        if (!reader.ok()) return sliding;
        for (std::size_t i = 0; i < sliding.size(); ++i)
            sliding[i] = pattern[i % pattern.size()] != 0;
        return sliding;
    }
    const std::int64_t period =
        reader.take(file.integerOr(key, kDefaultPeriod, 1, kMaxLayers), kDefaultPeriod);
    for (std::int64_t i = 0; i < layers; ++i)
        sliding[static_cast<std::size_t>(i)] = i % period < period - 1;
    return sliding;
}

// The part that target and drafter share.
template<class Spec> void readDecoder(const GgufFile& file, KeyReader& reader, Spec& spec) {
    spec.layers = reader.small(keys::kBlockCount, 1, kMaxLayers);
    spec.width = reader.small(keys::kEmbeddingLength, 1, kMaxWidth);
    spec.ffnWidth = reader.small(keys::kFeedForwardLength, 1, kMaxWidth);
    spec.heads = reader.small(keys::kHeadCount, 1, kMaxHeads);
    spec.kvHeads = reader.small(keys::kHeadCountKv, 1, kMaxHeads);
    spec.headSize = reader.small(keys::kKeyLength, 2, kMaxHeadSize);
    const int valueSize = reader.small(keys::kValueLength, 2, kMaxHeadSize);
    spec.slidingWindow = reader.small(keys::kSlidingWindow, 1, kMaxPositions);
    spec.eps = static_cast<float>(reader.number(keys::kRmsEpsilon, 1e-12, 1));
    spec.ropeTheta = reader.number(keys::kRopeFreqBase, 1, 1e12);
    if (!reader.ok()) return;

    reader.require(spec.heads % spec.kvHeads == 0, "its " + str(spec.heads) +
                                                       " attention heads cannot be shared among " +
                                                       str(spec.kvHeads) + " key heads");
    reader.require(std::int64_t(spec.heads) * spec.headSize <= kMaxWidth,
                   "its attention is wider than Glint can take: " + str(spec.heads) + " heads of " +
                       str(spec.headSize));
    reader.require(spec.headSize % 2 == 0,
                   "its heads are " + str(spec.headSize) + " wide; an even number is needed");
    reader.require(valueSize == spec.headSize, "its keys are " + str(spec.headSize) +
                                                   " wide and its values " + str(valueSize) +
                                                   "; Glint reads equal widths only");
    const std::int64_t rotary = reader.take(
        file.integerOr(reader.key(keys::kRopeDimensionCount), spec.headSize, 1, kMaxHeadSize),
        std::int64_t(spec.headSize));
    reader.require(rotary == spec.headSize,
                   "it turns only " + str(rotary) + " of the " + str(spec.headSize) +
                       " values of a head by their position; Glint reads models that turn all");
    const auto scaling =
        reader.take(file.textOr(reader.key("rope.scaling.type"), "none"), std::string_view());
    reader.require(!reader.ok() || scaling == "none",
                   "it asks for stretched positions (rope scaling " + std::string(scaling) +
                       "), which Glint does not compute");
    spec.sliding = slidingLayers(file, reader, spec.layers);
}

std::int64_t vocabularyOf(const GgufFile& file, KeyReader& reader) {
    const auto tokens = reader.take(file.texts(keys::kTokens), {});
    reader.require(!reader.ok() || (tokens.size() >= 1 && tokens.size() <= kMaxVocabulary),
                   "its vocabulary has " + str(tokens.size()) + " entries");
    return tokens.size();
}

std::string_view roleText(FileRole role) {
    switch (role) {
    case FileRole::Target: return "the model itself";
    case FileRole::Projector: return "its vision part";
    case FileRole::Drafter: return "its draft part";
    default: return "";
    }
}

Result<void> requireRole(const GgufFile& file, FileRole role) {
    const ModelFileInfo info = describeModelFile(file);
    if (info.role == role) return {};
    std::string message = info.sentence; // of an error: without the full stop
    if (message.ends_with('.')) message.pop_back();
    // Of the trio, but in the wrong place. The sentences of all others say what hinders their use.
    if (!roleText(info.role).empty()) message += "; needed here is " + std::string(roleText(role));
    return Error{ErrorCode::Unsupported, message};
}

constexpr std::string_view kPositionTable = "v.position_embd.weight";

} // namespace

Result<TextSpec> TextSpec::read(const GgufFile& file) {
    if (auto role = requireRole(file, FileRole::Target); !role) return role.error();
    KeyReader reader(file, "muse-glimmer");
    TextSpec spec;
    readDecoder(file, reader, spec);
    spec.vocabulary = vocabularyOf(file, reader);
    spec.contextLimit = reader.small(keys::kContextLength, 1, kMaxPositions);
    spec.logitScale = static_cast<float>(reader.number(keys::kLogitScale, 1e-6, 1e6));
    spec.logitCap = static_cast<float>(reader.number(keys::kLogitSoftcap, 0, 1e6));
    spec.name = std::string(reader.take(file.textOr(keys::kName, ""), std::string_view()));
    if (reader.error()) return *reader.error();
    return spec;
}

Result<VisionSpec> VisionSpec::read(const GgufFile& file) {
    if (auto role = requireRole(file, FileRole::Projector); !role) return role.error();
    KeyReader reader(file, "");
    VisionSpec spec;
    const auto small = [&](std::string_view key, std::int64_t most) {
        return static_cast<int>(reader.take(file.integer(key, 1, most), std::int64_t(1)));
    };
    spec.layers = small(keys::kClipBlockCount, kMaxLayers);
    spec.width = small(keys::kClipEmbeddingLength, kMaxWidth);
    spec.ffnWidth = small(keys::kClipFeedForwardLength, kMaxWidth);
    spec.heads = small(keys::kClipHeadCount, kMaxHeads);
    spec.patchSize = small(keys::kClipPatchSize, 64);
    spec.mergeSize = small(keys::kClipMergeSize, 8);
    spec.projectionWidth = small(keys::kClipProjectionDim, kMaxWidth);
    spec.eps = static_cast<float>(reader.take(file.number(keys::kClipEpsilon, 1e-12, 1), 0.0));
    // What the tower was trained on may be less than what the architecture allows. The bound's name
    // is that of llama.cpp's other towers.
    const std::int64_t cell = std::int64_t(spec.cellPixels()) * spec.cellPixels();
    const std::int64_t most = spec.maxCells * cell;
    spec.maxCells = static_cast<int>(
        std::min(most, reader.take(file.integerOr(keys::kClipImageMaxPixels, most, cell), most)) /
        cell);
    const auto mean = reader.take(file.numbers(keys::kClipImageMean, 3), {});
    const auto stddev = reader.take(file.numbers(keys::kClipImageStd, 3), {});
    if (reader.error()) return *reader.error();

    reader.require(mean.size() == 3 && stddev.size() == 3,
                   "its colour averages are not three numbers each");
    if (reader.error()) return *reader.error();
    for (std::size_t i = 0; i < 3; ++i) {
        spec.mean[i] = static_cast<float>(mean[i]);
        spec.stddev[i] = static_cast<float>(stddev[i]);
        reader.require(std::abs(mean[i]) <= 1e3 && stddev[i] >= 1e-6 && stddev[i] <= 1e3,
                       "its colour averages are out of range");
    }
    reader.require(spec.width % spec.heads == 0, "its width " + str(spec.width) +
                                                     " cannot be divided among " + str(spec.heads) +
                                                     " heads");
    if (reader.error()) return *reader.error();
    spec.headSize = spec.width / spec.heads;
    reader.require(spec.headSize % 4 == 0,
                   "its heads are " + str(spec.headSize) +
                       " wide; a multiple of 4 is needed for rows and columns");

    // The table is square; its side is also that of an attention window. Both are not in the
    // metadata.
    const GgufTensor* table = file.tensor(kPositionTable);
    reader.require(table != nullptr, std::string(kPositionTable) + " is missing");
    if (reader.error()) return *reader.error();
    const std::int64_t entries = table->rows();
    const auto side =
        static_cast<std::int64_t>(std::llround(std::sqrt(static_cast<double>(entries))));
    reader.require(side >= 1 && side <= 4096 && side * side == entries,
                   std::string(kPositionTable) + " has " + str(entries) +
                       " rows, which is not a square");
    if (reader.error()) return *reader.error();
    spec.gridSide = static_cast<int>(side);
    return spec;
}

Result<DraftSpec> DraftSpec::read(const GgufFile& file, const TextSpec& target) {
    if (auto role = requireRole(file, FileRole::Drafter); !role) return role.error();
    KeyReader reader(file, "dflash");
    DraftSpec spec;
    readDecoder(file, reader, spec);
    spec.blockSize = reader.small(keys::kBlockSize, 2, kMaxBlock);
    const auto taps = reader.take(file.integers(reader.key(keys::kTargetLayers), kMaxTaps), {});
    const std::int64_t vocabulary = vocabularyOf(file, reader);
    spec.maskToken = static_cast<std::int32_t>(
        reader.take(file.integer(keys::kMaskToken, 0, kMaxVocabulary), std::int64_t(0)));
    if (reader.error()) return *reader.error();

    const auto belongs = [&](bool condition, const std::string& message) {
        reader.require(condition, "it does not belong to this model: " + message);
    };
    belongs(spec.width == target.width,
            "it is " + str(spec.width) + " wide, the model " + str(target.width));
    belongs(vocabulary == target.vocabulary,
            "it knows " + str(vocabulary) + " tokens, the model " + str(target.vocabulary));
    belongs(spec.maskToken < target.vocabulary,
            "its mask is token " + str(spec.maskToken) + ", outside the vocabulary");
    reader.require(!taps.empty(), "it names no layers of the model to read");
    std::int64_t before = 1; // files shrunk for speed tests name a layer twice
    for (const std::int64_t tap : taps) {
        belongs(tap <= target.layers, "it reads layer " + str(tap) + " of " + str(target.layers));
        reader.require(tap >= before, "the layers it reads are not in ascending order");
        before = tap;
        spec.taps.push_back(static_cast<int>(tap));
    }
    if (reader.error()) return *reader.error();
    return spec;
}

} // namespace engine
