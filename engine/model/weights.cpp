#include "engine/model/weights.h"

#include "engine/gguf/gguf_file.h"
#include "engine/quant/quant_table.h"

#include <string>
#include <utility>

namespace engine {

namespace {

// One tensor that a model needs, and where its weight goes.
struct Need {
    std::string name;
    WeightUse use = WeightUse::Matmul;
    std::int64_t rows = 0; // 0: any
    std::int64_t columns = 0;
    WeightPtr* to = nullptr;
};

std::string shapeText(std::int64_t columns, std::int64_t rows, bool vector) {
    // As GGUF tools print it: the contiguous side first.
    if (vector) return "[" + std::to_string(columns) + "]";
    return "[" + std::to_string(columns) + ", " +
           (rows ? std::to_string(rows) : std::string("any")) + "]";
}

std::string shapeText(const GgufTensor& tensor) {
    std::string text = "[";
    for (int i = 0; i < tensor.dimensions; ++i)
        text += (i ? ", " : "") + std::to_string(tensor.ne[i]);
    return text + "]";
}

// Collects what is wrong with the tensors of a file, in words, before anything is loaded.
class Complaints {
public:
    void add(std::string what) {
        ++m_count;
        if (m_count <= kMostNamed) m_text += (m_text.empty() ? "" : "; ") + std::move(what);
    }
    bool empty() const { return m_count == 0; }
    Error error() const {
        std::string text = m_text;
        if (m_count > kMostNamed) text += "; and " + std::to_string(m_count - kMostNamed) + " more";
        return {ErrorCode::InvalidFile, text};
    }

private:
    static constexpr int kMostNamed = 12; // a sentence, not a page
    int m_count = 0;
    std::string m_text;
};

bool isHeadNorm(std::string_view name) {
    return name.ends_with("attn_q_norm.weight") || name.ends_with("attn_k_norm.weight");
}

class Loader {
public:
    Loader(Backend& backend, const GgufFile& file) : m_backend(backend), m_file(file) {}

    void matrix(std::string name, std::int64_t rows, std::int64_t columns, WeightPtr& to) {
        m_needs.push_back({std::move(name), WeightUse::Matmul, rows, columns, &to});
    }
    void vector(std::string name, std::int64_t columns, WeightPtr& to) {
        m_needs.push_back({std::move(name), WeightUse::Vector, 1, columns, &to});
    }
    void table(std::string name, std::int64_t rows, std::int64_t columns, WeightPtr& to) {
        m_needs.push_back({std::move(name), WeightUse::Embedding, rows, columns, &to});
    }

    // Checks all that was asked for, then imports it. Returns the bytes taken in the backend.
    Result<std::int64_t> run(const LoadedBytes& progress, const std::stop_token& stop) {
        if (auto checked = check(); !checked) return checked.error();
        std::int64_t done = 0, deviceBytes = 0;
        for (const Need& need : m_needs) {
            if (stop.stop_requested()) return Error{ErrorCode::Cancelled, "stopped"};
            const GgufTensor& tensor = *m_file.tensor(need.name);
            m_file.adviseSequential(tensor);
            const std::int64_t rows = tensor.columns() * tensor.rows() / need.columns;
            const WeightSource source{need.name, tensor.type(), rows, need.columns, tensor.bytes};
            auto weight = m_backend.importWeight(source, need.use);
            if (!weight) return withContext(weight.error(), need.name);
            deviceBytes += (*weight)->deviceBytes;
            *need.to = std::move(*weight);
            if (need.use != WeightUse::Embedding) m_file.release(tensor);
            done += tensor.sizeBytes;
            if (progress) progress(done);
        }
        return deviceBytes;
    }

private:
    Result<void> check() const {
        Complaints complaints;
        for (const Need& need : m_needs) {
            const GgufTensor* tensor = m_file.tensor(need.name);
            if (!tensor) {
                complaints.add(need.name + " is missing" +
                               (isHeadNorm(need.name) ? ": this conversion lost it" : ""));
                continue;
            }
            const bool vector = need.use == WeightUse::Vector;
            const std::int64_t rows = need.rows ? need.rows : tensor->rows();
            // The patch kernel is stored with four dimensions, all of a row's together are its
            // columns.
            const bool flat = tensor->rows() == rows && tensor->columns() == need.columns;
            const bool kernel = tensor->dimensions == 4 && tensor->ne[3] == rows &&
                                tensor->ne[0] * tensor->ne[1] * tensor->ne[2] == need.columns;
            if (!flat && !kernel)
                complaints.add(need.name + " is " + shapeText(*tensor) + " instead of " +
                               shapeText(need.columns, need.rows, vector));
            else if (!tensor->format->readable())
                complaints.add(need.name + " is of type " + std::string(tensor->format->name) +
                               ", which Glint does not compute with");
            else if (std::int64_t(tensor->bytes.size()) != tensor->sizeBytes)
                complaints.add(need.name + " is not in the file, which ends early");
        }
        if (complaints.empty()) return {};
        return complaints.error();
    }

    Backend& m_backend;
    const GgufFile& m_file;
    std::vector<Need> m_needs;
};

std::string block(std::string_view prefix, std::size_t index, std::string_view name) {
    return std::string(prefix) + std::to_string(index) + "." + std::string(name);
}

} // namespace

Result<std::shared_ptr<const TextWeights>> TextWeights::load(Backend& backend, const GgufFile& file,
                                                             const TextSpec& spec,
                                                             const LoadedBytes& progress,
                                                             std::stop_token stop) {
    auto weights = std::make_shared<TextWeights>();
    const std::int64_t width = spec.width, ffn = spec.ffnWidth, head = spec.headSize;
    const std::int64_t attention = spec.heads * head, kv = spec.kvHeads * head;
    Loader loader(backend, file);
    loader.table("token_embd.weight", spec.vocabulary, width, weights->embedding);
    weights->layers.resize(static_cast<std::size_t>(spec.layers));
    for (std::size_t i = 0; i < weights->layers.size(); ++i) {
        Layer& w = weights->layers[i];
        const auto name = [&](std::string_view text) { return block("blk.", i, text); };
        loader.vector(name("attn_norm.weight"), width, w.attnNorm);
        loader.matrix(name("attn_q.weight"), attention, width, w.q);
        loader.matrix(name("attn_k.weight"), kv, width, w.k);
        loader.matrix(name("attn_v.weight"), kv, width, w.v);
        loader.matrix(name("attn_gate.weight"), attention, width, w.gate);
        loader.vector(name("attn_q_norm.weight"), head, w.qNorm);
        loader.vector(name("attn_k_norm.weight"), head, w.kNorm);
        loader.matrix(name("attn_output.weight"), width, attention, w.attnOutput);
        loader.vector(name("post_attention_norm.weight"), width, w.postAttentionNorm);
        loader.vector(name("ffn_norm.weight"), width, w.ffnNorm);
        loader.matrix(name("ffn_gate.weight"), ffn, width, w.ffnGate);
        loader.matrix(name("ffn_up.weight"), ffn, width, w.ffnUp);
        loader.matrix(name("ffn_down.weight"), width, ffn, w.ffnDown);
        loader.vector(name("post_ffw_norm.weight"), width, w.postFfnNorm);
    }
    loader.vector("output_norm.weight", width, weights->outputNorm);
    loader.matrix("output.weight", spec.vocabulary, width, weights->output);
    auto bytes = loader.run(progress, stop);
    if (!bytes) return bytes.error();
    weights->deviceBytes = *bytes;
    return std::shared_ptr<const TextWeights>(std::move(weights));
}

Result<std::shared_ptr<const DraftWeights>>
DraftWeights::load(Backend& backend, const GgufFile& file, const DraftSpec& spec,
                   const LoadedBytes& progress, std::stop_token stop) {
    auto weights = std::make_shared<DraftWeights>();
    const std::int64_t width = spec.width, ffn = spec.ffnWidth, head = spec.headSize;
    const std::int64_t attention = spec.heads * head, kv = spec.kvHeads * head;
    Loader loader(backend, file);
    loader.matrix("fc.weight", width, std::int64_t(spec.taps.size()) * width, weights->fuse);
    loader.vector("enc.output_norm.weight", width, weights->fuseNorm);
    weights->layers.resize(static_cast<std::size_t>(spec.layers));
    for (std::size_t i = 0; i < weights->layers.size(); ++i) {
        Layer& w = weights->layers[i];
        const auto name = [&](std::string_view text) { return block("blk.", i, text); };
        loader.vector(name("attn_norm.weight"), width, w.attnNorm);
        loader.matrix(name("attn_q.weight"), attention, width, w.q);
        loader.matrix(name("attn_k.weight"), kv, width, w.k);
        loader.matrix(name("attn_v.weight"), kv, width, w.v);
        loader.vector(name("attn_q_norm.weight"), head, w.qNorm);
        loader.vector(name("attn_k_norm.weight"), head, w.kNorm);
        loader.matrix(name("attn_output.weight"), width, attention, w.attnOutput);
        loader.vector(name("ffn_norm.weight"), width, w.ffnNorm);
        loader.matrix(name("ffn_gate.weight"), ffn, width, w.ffnGate);
        loader.matrix(name("ffn_up.weight"), ffn, width, w.ffnUp);
        loader.matrix(name("ffn_down.weight"), width, ffn, w.ffnDown);
    }
    loader.vector("output_norm.weight", width, weights->outputNorm);
    auto bytes = loader.run(progress, stop);
    if (!bytes) return bytes.error();
    weights->deviceBytes = *bytes;
    return std::shared_ptr<const DraftWeights>(std::move(weights));
}

Result<std::shared_ptr<const VisionWeights>>
VisionWeights::load(Backend& backend, const GgufFile& file, const VisionSpec& spec,
                    const LoadedBytes& progress, std::stop_token stop) {
    auto weights = std::make_shared<VisionWeights>();
    const std::int64_t width = spec.width, ffn = spec.ffnWidth;
    const std::int64_t patch = std::int64_t(3) * spec.patchSize * spec.patchSize;
    const std::int64_t cell = std::int64_t(spec.mergeSize) * spec.mergeSize * width;

    // The projector's inner widths are not in the metadata: each matrix takes what the one before
    // it gives.
    const GgufTensor* first = file.tensor("mm.0.weight");
    const GgufTensor* second = file.tensor("mm.1.weight");
    const GgufTensor* table = file.tensor("v.position_embd.weight");
    const std::int64_t entries = std::int64_t(spec.gridSide) * spec.gridSide;
    Complaints complaints;
    if (!first) complaints.add("mm.0.weight is missing");
    if (!second) complaints.add("mm.1.weight is missing");
    if (!table)
        complaints.add("v.position_embd.weight is missing");
    else if (!table->hasShape(width, entries))
        complaints.add("v.position_embd.weight is " + shapeText(*table) + " instead of " +
                       shapeText(width, entries, false));
    else if (!table->format->readable() || std::int64_t(table->bytes.size()) != table->sizeBytes)
        complaints.add("v.position_embd.weight cannot be read");
    if (!complaints.empty()) return complaints.error();

    Loader loader(backend, file);
    loader.matrix("v.patch_embd.weight", width, patch, weights->patchEmbedding);
    loader.vector("v.pre_ln.weight", width, weights->preNorm);
    loader.vector("v.pre_ln.bias", width, weights->preNormBias);
    weights->layers.resize(static_cast<std::size_t>(spec.layers));
    for (std::size_t i = 0; i < weights->layers.size(); ++i) {
        Layer& w = weights->layers[i];
        const auto name = [&](std::string_view text) { return block("v.blk.", i, text); };
        const auto linear = [&](std::string_view text, std::int64_t rows, std::int64_t columns,
                                WeightPtr& matrix, WeightPtr& bias) {
            loader.matrix(name(text) + ".weight", rows, columns, matrix);
            loader.vector(name(text) + ".bias", rows, bias);
        };
        loader.vector(name("ln1.weight"), width, w.norm1);
        loader.vector(name("ln1.bias"), width, w.norm1Bias);
        linear("attn_q", width, width, w.q, w.qBias);
        linear("attn_k", width, width, w.k, w.kBias);
        linear("attn_v", width, width, w.v, w.vBias);
        linear("attn_out", width, width, w.out, w.outBias);
        loader.vector(name("ln2.weight"), width, w.norm2);
        loader.vector(name("ln2.bias"), width, w.norm2Bias);
        linear("ffn_up", ffn, width, w.ffnUp, w.ffnUpBias);
        linear("ffn_down", width, ffn, w.ffnDown, w.ffnDownBias);
    }
    loader.vector("v.post_ln.weight", width, weights->postNorm);
    loader.vector("v.post_ln.bias", width, weights->postNormBias);
    loader.matrix("mm.0.weight", first->rows(), cell, weights->project0);
    loader.matrix("mm.1.weight", second->rows(), first->rows(), weights->project1);
    loader.matrix("mm.2.weight", spec.projectionWidth, second->rows(), weights->project2);

    const auto tableBytes = table->sizeBytes;
    auto bytes = loader.run(
        [&](std::int64_t done) {
            if (progress) progress(done + tableBytes);
        },
        stop);
    if (!bytes) return bytes.error();
    weights->deviceBytes = *bytes;

    weights->positionTable.resize(static_cast<std::size_t>(entries * width));
    const std::int64_t rowBytes = table->format->rowBytes(width);
    for (std::int64_t i = 0; i < entries; ++i)
        dequantizeRow(table->type(), table->bytes.data() + i * rowBytes, width,
                      weights->positionTable.data() + i * width);
    file.release(*table);
    return std::shared_ptr<const VisionWeights>(std::move(weights));
}

} // namespace engine
