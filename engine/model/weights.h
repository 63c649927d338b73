#pragma once
// The tensors of the three models, imported into a backend with their names and shapes checked.
// Immutable after loading, therefore shared. Shapes are written [rows, columns]: a matrix [r, c]
// turns c values into r.
//
// Loading runs on the engine thread. The backend outlives the weights. Each tensor is read from the
// mapped file once, and its pages are given back right after, so that memory stays near the size of
// the file; only the embedding table may be read from the file later, so the file outlives
// TextWeights.

#include "engine/backend/backend.h"
#include "engine/base/result.h"
#include "engine/model/spec.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <vector>

namespace engine {

class GgufFile;

using WeightPtr = std::unique_ptr<const Weight>;

// Called after each tensor with the bytes of this file's tensors that are done; the last call says
// all.
using LoadedBytes = std::function<void(std::int64_t bytesDone)>;

struct TextWeights {
    struct Layer {
        WeightPtr attnNorm;          // vector [width]
        WeightPtr q;                 // [heads * headSize, width]
        WeightPtr k;                 // [kvHeads * headSize, width]
        WeightPtr v;                 // [kvHeads * headSize, width]
        WeightPtr gate;              // [heads * headSize, width]
        WeightPtr qNorm;             // vector [headSize]
        WeightPtr kNorm;             // vector [headSize]
        WeightPtr attnOutput;        // [width, heads * headSize]
        WeightPtr postAttentionNorm; // vector [width]
        WeightPtr ffnNorm;           // vector [width]
        WeightPtr ffnGate;           // [ffnWidth, width]
        WeightPtr ffnUp;             // [ffnWidth, width]
        WeightPtr ffnDown;           // [width, ffnWidth]
        WeightPtr postFfnNorm;       // vector [width]
    };
    WeightPtr embedding; // table [vocabulary, width]
    WeightPtr outputNorm;
    WeightPtr output; // [vocabulary, width]
    std::vector<Layer> layers;
    std::int64_t deviceBytes = 0; // of all weights together, beyond the mapped file

    // An error names every tensor that is missing or has the wrong shape. Cancelled if stop is
    // requested, checked before each tensor. progress may be empty.
    static Result<std::shared_ptr<const TextWeights>> load(Backend& backend, const GgufFile& file,
                                                           const TextSpec& spec,
                                                           const LoadedBytes& progress,
                                                           std::stop_token stop);
};

struct VisionWeights {
    struct Layer {
        WeightPtr norm1, norm1Bias; // vectors [width], as all biases but ffnUp's
        WeightPtr q, qBias;         // [width, width]
        WeightPtr k, kBias;         // [width, width]
        WeightPtr v, vBias;         // [width, width]
        WeightPtr out, outBias;     // [width, width]
        WeightPtr norm2, norm2Bias;
        WeightPtr ffnUp, ffnUpBias;     // [ffnWidth, width]
        WeightPtr ffnDown, ffnDownBias; // [width, ffnWidth]
    };
    WeightPtr patchEmbedding; // [width, 3 * patchSize^2], columns in the order c, y, x
    // [gridSide^2, width], rows y * gridSide + x; resampled on the host for each picture's grid.
    std::vector<float> positionTable;
    WeightPtr preNorm, preNormBias;
    std::vector<Layer> layers;
    WeightPtr postNorm, postNormBias;
    WeightPtr
        project0; // [?, mergeSize^2 * width], columns channel * mergeSize^2 + dy * mergeSize + dx
    WeightPtr project1; // [?, rows of project0]
    WeightPtr project2; // [projectionWidth, rows of project1]
    std::int64_t deviceBytes = 0;

    static Result<std::shared_ptr<const VisionWeights>> load(Backend& backend, const GgufFile& file,
                                                             const VisionSpec& spec,
                                                             const LoadedBytes& progress,
                                                             std::stop_token stop);
};

struct DraftWeights {
    struct Layer {
        WeightPtr attnNorm;   // vector [width]
        WeightPtr q;          // [heads * headSize, width]
        WeightPtr k;          // [kvHeads * headSize, width]
        WeightPtr v;          // [kvHeads * headSize, width]
        WeightPtr qNorm;      // vector [headSize]
        WeightPtr kNorm;      // vector [headSize]
        WeightPtr attnOutput; // [width, heads * headSize]
        WeightPtr ffnNorm;    // vector [width]
        WeightPtr ffnGate;    // [ffnWidth, width]
        WeightPtr ffnUp;      // [ffnWidth, width]
        WeightPtr ffnDown;    // [width, ffnWidth]
    };
    WeightPtr fuse;       // [width, taps * width]
    WeightPtr fuseNorm;   // vector [width]
    WeightPtr outputNorm; // vector [width]
    std::vector<Layer> layers;
    std::int64_t deviceBytes = 0;

    static Result<std::shared_ptr<const DraftWeights>> load(Backend& backend, const GgufFile& file,
                                                            const DraftSpec& spec,
                                                            const LoadedBytes& progress,
                                                            std::stop_token stop);
};

} // namespace engine
