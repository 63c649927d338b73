#pragma once
// Names of metadata keys. Those of an architecture are written with its name in front by archKey.

#include <string>
#include <string_view>

namespace engine::keys {

inline constexpr std::string_view kArchitecture = "general.architecture";
inline constexpr std::string_view kType = "general.type";
inline constexpr std::string_view kName = "general.name";
inline constexpr std::string_view kSizeLabel = "general.size_label";
inline constexpr std::string_view kFileType = "general.file_type";
inline constexpr std::string_view kAlignment = "general.alignment";

inline constexpr std::string_view kSplitNo = "split.no";
inline constexpr std::string_view kSplitCount = "split.count";
inline constexpr std::string_view kSplitTensors = "split.tensors.count";

// After "<architecture>."
inline constexpr std::string_view kBlockCount = "block_count";
inline constexpr std::string_view kContextLength = "context_length";
inline constexpr std::string_view kEmbeddingLength = "embedding_length";
inline constexpr std::string_view kFeedForwardLength = "feed_forward_length";
inline constexpr std::string_view kHeadCount = "attention.head_count";
inline constexpr std::string_view kHeadCountKv = "attention.head_count_kv";
inline constexpr std::string_view kKeyLength = "attention.key_length";
inline constexpr std::string_view kValueLength = "attention.value_length";
inline constexpr std::string_view kRmsEpsilon = "attention.layer_norm_rms_epsilon";
inline constexpr std::string_view kSlidingWindow = "attention.sliding_window";
inline constexpr std::string_view kSlidingPattern = "attention.sliding_window_pattern";
inline constexpr std::string_view kRopeFreqBase = "rope.freq_base";
inline constexpr std::string_view kRopeDimensionCount = "rope.dimension_count";
inline constexpr std::string_view kLogitScale = "logit_scale";
inline constexpr std::string_view kLogitSoftcap = "final_logit_softcapping";
inline constexpr std::string_view kBlockSize = "block_size";       // dflash
inline constexpr std::string_view kTargetLayers = "target_layers"; // dflash

inline std::string archKey(std::string_view architecture, std::string_view key) {
    return std::string(architecture) + "." + std::string(key);
}

// The vision part.
inline constexpr std::string_view kClipHasVision = "clip.has_vision_encoder";
inline constexpr std::string_view kClipProjectorType = "clip.projector_type";
inline constexpr std::string_view kClipProjectionDim = "clip.vision.projection_dim";
inline constexpr std::string_view kClipImageSize = "clip.vision.image_size";
inline constexpr std::string_view kClipImageMaxPixels = "clip.vision.image_max_pixels";
inline constexpr std::string_view kClipPatchSize = "clip.vision.patch_size";
inline constexpr std::string_view kClipEmbeddingLength = "clip.vision.embedding_length";
inline constexpr std::string_view kClipFeedForwardLength = "clip.vision.feed_forward_length";
inline constexpr std::string_view kClipBlockCount = "clip.vision.block_count";
inline constexpr std::string_view kClipHeadCount = "clip.vision.attention.head_count";
inline constexpr std::string_view kClipEpsilon = "clip.vision.attention.layer_norm_epsilon";
inline constexpr std::string_view kClipMergeSize = "clip.vision.spatial_merge_size";
inline constexpr std::string_view kClipImageMean = "clip.vision.image_mean";
inline constexpr std::string_view kClipImageStd = "clip.vision.image_std";

inline constexpr std::string_view kTokenizerModel = "tokenizer.ggml.model";
inline constexpr std::string_view kTokenizerPre = "tokenizer.ggml.pre";
inline constexpr std::string_view kTokens = "tokenizer.ggml.tokens";
inline constexpr std::string_view kTokenTypes = "tokenizer.ggml.token_type";
inline constexpr std::string_view kMerges = "tokenizer.ggml.merges";
inline constexpr std::string_view kBosToken = "tokenizer.ggml.bos_token_id";
inline constexpr std::string_view kEosToken = "tokenizer.ggml.eos_token_id";
inline constexpr std::string_view kEotToken = "tokenizer.ggml.eot_token_id";
inline constexpr std::string_view kPaddingToken = "tokenizer.ggml.padding_token_id";
inline constexpr std::string_view kMaskToken = "tokenizer.ggml.mask_token_id";
inline constexpr std::string_view kAddBosToken = "tokenizer.ggml.add_bos_token";

} // namespace engine::keys
