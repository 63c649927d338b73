#include "engine/token/special_tokens.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

using engine::SpecialTokens;
using engine::TokenId;

namespace {

const std::vector<std::pair<TokenId, std::string_view>> kReleased = {
    {200000, "<|begin_of_text|>"},
    {200001, "<|end_of_text|>"},
    {200007, "<|eom|>"},
    {200008, "<|eot|>"},
    {200018, "<|finetune_right_pad|>"},
    {200022, "<|start|>"},
    {200023, "<|message|>"},
    {200080, "<|image_start|>"},
    {200081, "<|image_end|>"},
    {200090, "<|image|>"},
    {200091, "<|video|>"},
    {200092, "<|patch|>"},
};

std::vector<std::string_view> releasedVocabulary() {
    std::vector<std::string_view> tokens(engine::kReleasedVocabulary, "word");
    for (const auto& [id, text] : kReleased) tokens[id] = text;
    return tokens;
}

} // namespace

TEST(SpecialTokens, TheReleasedTableIsFound) {
    const auto special = SpecialTokens::find(releasedVocabulary());
    ASSERT_TRUE(special.ok()) << special.error().message;
    EXPECT_EQ(special->beginOfText, 200000);
    EXPECT_EQ(special->eom, 200007);
    EXPECT_EQ(special->eot, 200008);
    EXPECT_EQ(special->pad, 200018);
    EXPECT_EQ(special->patch, 200092);
    EXPECT_TRUE(special->hasPictures());
}

TEST(SpecialTokens, OnlyEndOfTextAndEndOfTurnEndATurn) {
    const auto special = SpecialTokens::find(releasedVocabulary());
    ASSERT_TRUE(special.ok());
    EXPECT_TRUE(special->endsTurn(200001));
    EXPECT_TRUE(special->endsTurn(200008));
    EXPECT_FALSE(special->endsTurn(200007)) << "<|eom|> ends a message, not the turn";
    EXPECT_FALSE(special->endsTurn(200022));
}

TEST(SpecialTokens, AReleasedVocabularyWithAMarkerElsewhereIsRefused) {
    auto tokens = releasedVocabulary();
    std::swap(tokens[200022], tokens[200030]);
    const auto special = SpecialTokens::find(tokens);
    ASSERT_FALSE(special.ok());
    EXPECT_EQ(special.error().code, engine::ErrorCode::InvalidFile);
    EXPECT_NE(special.error().message.find("<|start|>"), std::string::npos);
}

TEST(SpecialTokens, OtherVocabulariesMayHaveOtherIds) {
    const std::vector<std::string_view> tokens = {
        "a",         "<|eot|>",           "<|eom|>",     "<|end_of_text|>",
        "<|start|>", "<|begin_of_text|>", "<|message|>", "<|pad|>"};
    const auto special = SpecialTokens::find(tokens);
    ASSERT_TRUE(special.ok()) << special.error().message;
    EXPECT_EQ(special->eot, 1);
    EXPECT_EQ(special->pad, 7);
    EXPECT_EQ(special->patch, engine::kNoToken);
    EXPECT_FALSE(special->hasPictures());
}

TEST(SpecialTokens, AMissingMarkerIsNamed) {
    const std::vector<std::string_view> tokens = {"<|begin_of_text|>", "<|end_of_text|>", "<|eom|>",
                                                  "<|start|>", "<|message|>"};
    const auto special = SpecialTokens::find(tokens);
    ASSERT_FALSE(special.ok());
    EXPECT_NE(special.error().message.find("<|eot|>"), std::string::npos);
}
