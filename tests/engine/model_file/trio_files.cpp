#include "tests/engine/model_file/trio_files.h"

#include <initializer_list>
#include <string>
#include <vector>

namespace test {

namespace {

void addTensors(GgufBuilder& builder, std::string_view prefix, std::uint32_t layers,
                std::initializer_list<std::string_view> names, std::uint32_t width,
                std::string_view without) {
    for (std::uint32_t i = 0; i < layers; ++i) {
        for (const std::string_view name : names) {
            const std::string full =
                std::string(prefix) + std::to_string(i) + "." + std::string(name);
            if (!without.empty() && full.starts_with(without)) continue;
            builder.tensor(full, {width});
        }
    }
}

std::vector<std::string> tokens(std::uint32_t count) {
    std::vector<std::string> out;
    for (std::uint32_t i = 0; i < count; ++i) out.push_back("t" + std::to_string(i));
    return out;
}

} // namespace

GgufBuilder targetFile(const TrioNumbers& numbers, std::string_view without) {
    GgufBuilder builder("muse-glimmer");
    builder.text("general.name", "a model")
        .u32("muse-glimmer.block_count", numbers.layers)
        .u32("muse-glimmer.embedding_length", numbers.width)
        .texts("tokenizer.ggml.tokens", tokens(numbers.vocabulary));
    for (const char* name : {"token_embd.weight", "output_norm.weight", "output.weight"}) {
        builder.tensor(name, {numbers.width});
    }
    addTensors(builder, "blk.", numbers.layers,
               {"attn_norm.weight", "attn_q.weight", "attn_k.weight", "attn_v.weight",
                "attn_gate.weight", "attn_q_norm.weight", "attn_k_norm.weight",
                "attn_output.weight", "post_attention_norm.weight", "ffn_norm.weight",
                "ffn_gate.weight", "ffn_up.weight", "ffn_down.weight", "post_ffw_norm.weight"},
               numbers.width, without);
    return builder;
}

GgufBuilder projectorFile(const TrioNumbers& numbers) {
    GgufBuilder builder("clip");
    builder.text("clip.projector_type", "muse-glimmer")
        .u32("clip.vision.projection_dim", numbers.width)
        .u32("clip.vision.block_count", 1);
    for (const char* name :
         {"v.patch_embd.weight", "v.position_embd.weight", "v.pre_ln.weight", "v.pre_ln.bias",
          "v.post_ln.weight", "v.post_ln.bias", "mm.0.weight", "mm.1.weight", "mm.2.weight"}) {
        builder.tensor(name, {32});
    }
    addTensors(builder, "v.blk.", 1,
               {"ln1.weight", "ln1.bias", "ln2.weight", "ln2.bias", "attn_q.weight", "attn_q.bias",
                "attn_k.weight", "attn_k.bias", "attn_v.weight", "attn_v.bias", "attn_out.weight",
                "attn_out.bias", "ffn_up.weight", "ffn_up.bias", "ffn_down.weight",
                "ffn_down.bias"},
               32, {});
    return builder;
}

GgufBuilder drafterFile(const TrioNumbers& numbers) {
    GgufBuilder builder("dflash");
    builder.u32("dflash.block_count", 1)
        .u32("dflash.embedding_length", numbers.width)
        .i32s("dflash.target_layers", {1, static_cast<std::int32_t>(numbers.layers)})
        .texts("tokenizer.ggml.tokens", tokens(numbers.vocabulary));
    for (const char* name : {"fc.weight", "enc.output_norm.weight", "output_norm.weight"}) {
        builder.tensor(name, {32});
    }
    addTensors(builder, "blk.", 1,
               {"attn_norm.weight", "attn_q.weight", "attn_k.weight", "attn_v.weight",
                "attn_q_norm.weight", "attn_k_norm.weight", "attn_output.weight", "ffn_norm.weight",
                "ffn_gate.weight", "ffn_up.weight", "ffn_down.weight"},
               32, {});
    return builder;
}

} // namespace test
