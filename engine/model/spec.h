#pragma once
// The numbers of the three models, read from GGUF metadata and checked: after that they are
// trusted. Keys, and what is not in the files: tests/fixtures/oracle/README.md, "GGUF layout".

#include "engine/base/result.h"

#include <cstdint>
#include <string>
#include <vector>

namespace engine {

class GgufFile;

struct TextSpec {
    int layers = 0;
    int width = 0; // of the residual
    int ffnWidth = 0;
    int heads = 0;
    int kvHeads = 0;
    int headSize = 0;
    std::int64_t vocabulary = 0;
    int contextLimit = 0;      // tokens the model was trained for
    int slidingWindow = 0;     // a query sees this many positions, its own included
    std::vector<bool> sliding; // per layer; the others are full and have no position encoding
    float eps = 0;
    float postNormEps = 1e-8f; // not in the file
    double ropeTheta = 0;
    float logitScale = 0;
    float logitCap = 0;
    std::string name; // general.name

    static Result<TextSpec> read(const GgufFile& file);
};

struct VisionSpec {
    int layers = 0;
    int width = 0;
    int ffnWidth = 0;
    int heads = 0;
    int headSize = 0;
    int patchSize = 0;
    int mergeSize = 0; // patches per side of a cell
    int gridSide = 0;  // side of the position table, and of an attention window
    int projectionWidth = 0;
    float eps = 0;
    float mean[3] = {};
    float stddev[3] = {};
    double ropeTheta = 10000; // not in the file
    int maxCells = 4096;      // fewer where the file bounds the pixels; the release does not
    bool fullAttention(int layer) const { return (layer + 1) % 4 == 0 || layer == layers - 1; }
    int cellPixels() const { return patchSize * mergeSize; }

    static Result<VisionSpec> read(const GgufFile& file);
};

struct DraftSpec {
    int layers = 0;
    int width = 0;
    int ffnWidth = 0;
    int heads = 0;
    int kvHeads = 0;
    int headSize = 0;
    int slidingWindow = 0;     // inclusive, in both directions
    std::vector<bool> sliding; // per layer
    int blockSize = 0;
    std::vector<int> taps; // residual entering these target layers, ascending
    std::int32_t maskToken = 0;
    float eps = 0;
    double ropeTheta = 0;

    // Also checks that the drafter belongs to this target: width, taps, vocabulary.
    static Result<DraftSpec> read(const GgufFile& file, const TextSpec& target);
};

} // namespace engine
