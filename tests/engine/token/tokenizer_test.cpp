#include "engine/token/tokenizer.h"

#include "engine/base/utf8.h"
#include "engine/gguf/gguf_file.h"
#include "tests/support/gguf_builder.h"
#include "tests/support/oracle_fixture.h"

#include <ctime>
#include <random>

using engine::GgufFile;
using engine::SplitForm;
using engine::TokenId;
using engine::Tokenizer;
using Ids = std::vector<TokenId>;

namespace {

class TokenizerOracle : public test::OracleTest {
protected:
    Tokenizer read(const char* name = "target.gguf") const {
        const auto file = GgufFile::open(folder / name);
        EXPECT_TRUE(file.ok()) << file.error().message;
        auto tokenizer = Tokenizer::read(*file);
        EXPECT_TRUE(tokenizer.ok()) << tokenizer.error().message;
        return std::move(tokenizer).value();
    }
};
GLINT_BOTH_ORACLES(TokenizerOracle);

// The printable form of all bytes, as vocabularies store them.
std::vector<std::string> byteTokens() {
    std::vector<std::string> tokens;
    char32_t next = 0x100;
    for (char32_t b = 0; b < 256; ++b) {
        const bool itself = (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
        std::string token;
        engine::appendUtf8(token, itself ? b : next++);
        tokens.push_back(token);
    }
    return tokens;
}

const std::vector<std::string> kMarkers = {"<|begin_of_text|>", "<|end_of_text|>", "<|eom|>",
                                           "<|eot|>",           "<|start|>",       "<|message|>"};

// All bytes, "ab", and the markers.
std::vector<std::string> smallVocabulary() {
    std::vector<std::string> tokens = byteTokens();
    tokens.push_back("ab");
    tokens.insert(tokens.end(), kMarkers.begin(), kMarkers.end());
    return tokens;
}

engine::Result<Tokenizer> readBuilt(const test::GgufBuilder& builder) {
    const std::vector<std::byte> bytes = builder.bytes();
    const auto file = GgufFile::fromBytes(bytes, "built");
    if (!file) return file.error();
    return Tokenizer::read(*file);
}

test::GgufBuilder smallFile(const std::vector<std::string>& tokens,
                            const std::vector<std::int32_t>& types,
                            const std::vector<std::string>& merges) {
    test::GgufBuilder builder("muse-glimmer");
    builder.text("tokenizer.ggml.model", "gpt2").text("tokenizer.ggml.pre", "llama4");
    builder.texts("tokenizer.ggml.tokens", tokens).texts("tokenizer.ggml.merges", merges);
    if (!types.empty()) builder.i32s("tokenizer.ggml.token_type", types);
    return builder;
}

} // namespace

TEST_P(TokenizerOracle, EncodesAllStringsAsTheReferenceDoes) {
    const Tokenizer tokenizer = read();
    int count = 0;
    for (const auto& row : cases["tokenizer"]) {
        const std::string text = row["text"];
        const Ids ids = row["ids"];
        const Ids plain = row.value("ids_no_special", ids);
        EXPECT_EQ(tokenizer.encodeWithSpecials(text), ids) << text;
        EXPECT_EQ(tokenizer.encodeText(text), plain) << text;
        EXPECT_EQ(tokenizer.encodeWithSpecials(text, SplitForm::Ggml),
                  row.value("ids_emulated_regex", ids))
            << text;
        EXPECT_EQ(tokenizer.decode(ids), text);
        EXPECT_EQ(tokenizer.decode(plain), text);
        ++count;
    }
    EXPECT_EQ(count, 136);
}

TEST_P(TokenizerOracle, RenderedChatsGiveTheReferenceIds) {
    const Tokenizer tokenizer = read();
    ASSERT_FALSE(cases["chat"].empty());
    for (const auto& chat : cases["chat"]) {
        EXPECT_EQ(tokenizer.encodeWithSpecials(chat["text"].get<std::string>()),
                  chat["ids"].get<Ids>());
    }
}

TEST_P(TokenizerOracle, FindsTheMarkersByText) {
    const Tokenizer tokenizer = read();
    EXPECT_TRUE(tokenizer.warnings().empty());
    for (const auto& [text, id] : cases["special_ids"].items()) {
        EXPECT_TRUE(tokenizer.isSpecial(id.get<TokenId>()));
        EXPECT_EQ(tokenizer.bytes(id.get<TokenId>()), text);
    }
    EXPECT_EQ(tokenizer.special().patch, cases["special_ids"]["<|patch|>"].get<TokenId>());
    EXPECT_EQ(tokenizer.special().pad, cases["special_ids"]["<|pad|>"].get<TokenId>());
    EXPECT_FALSE(tokenizer.isSpecial(0));
    EXPECT_FALSE(tokenizer.isSpecial(-1));
    EXPECT_TRUE(tokenizer.bytes(static_cast<TokenId>(tokenizer.size())).empty());
    EXPECT_EQ(tokenizer.encodeText("same words"), read("dflash.gguf").encodeText("same words"));
}

TEST_P(TokenizerOracle, AnyBytesComeBackAndNeverBecomeMarkers) {
    const Tokenizer tokenizer = read();
    const unsigned seed = std::random_device{}();
    std::printf("seed %u\n", seed);
    std::mt19937 random(seed);
    std::vector<std::string> pieces;
    for (const auto& [text, id] : cases["special_ids"].items()) pieces.push_back(text);
    for (int round = 0; round < 1000; ++round) {
        std::string text;
        for (std::size_t n = random() % 20; n > 0; --n) {
            if (random() % 3 == 0)
                text += pieces[random() % pieces.size()];
            else
                text += static_cast<char>(random());
        }
        const Ids ids = tokenizer.encodeText(text);
        ASSERT_EQ(tokenizer.decode(ids), text);
        for (const TokenId id : ids) ASSERT_FALSE(tokenizer.isSpecial(id));
        ASSERT_EQ(tokenizer.decode(tokenizer.encodeWithSpecials(text)), text);
    }
}

TEST_P(TokenizerOracle, OneMillionCharactersTakeNoQuadraticTime) {
    const Tokenizer tokenizer = read();
    const std::string text(1'000'000, 'a');
    const std::clock_t begin = std::clock();
    const Ids ids = tokenizer.encodeText(text);
    const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    EXPECT_EQ(tokenizer.decode(ids), text);
    EXPECT_LT(seconds, 5.0); // some tenths of a second; quadratic would be hours
}

TEST(Tokenizer, MergesByRankAndNeverIntoAMarker) {
    auto tokens = smallVocabulary();
    // Merges that would lead to <|eot|> if markers could be merged into.
    tokens.push_back("<|");
    tokens.push_back("eo");
    const auto tokenizer =
        readBuilt(smallFile(tokens, {}, {"a b", "< |", "e o", "<| eot|>", "<|eo t|>", "<| eo"}));
    ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
    EXPECT_EQ(tokenizer->encodeText("ab"), (Ids{256}));
    for (const TokenId id : tokenizer->encodeText("<|eot|>"))
        EXPECT_FALSE(tokenizer->isSpecial(id));
    EXPECT_EQ(tokenizer->warnings().size(), 1u) << "three merges name what is not there";
}

TEST(Tokenizer, OddEndTokensAreSaidAndNotBelieved) {
    // As community conversions have it: markers inside a turn named as its end, or as ordinary
    // tokens.
    const auto tokens = smallVocabulary();
    std::vector<std::int32_t> types(tokens.size(), 1);
    for (std::size_t i = 257; i < tokens.size(); ++i) types[i] = 3;
    const TokenId start = 257 + 4;
    types[start] = 1;
    auto file = smallFile(tokens, types, {"a b"});
    file.u32("tokenizer.ggml.eos_token_id", start).u32("tokenizer.ggml.eot_token_id", 257 + 3);
    const auto tokenizer = readBuilt(file);
    ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
    EXPECT_FALSE(tokenizer->endsTurn(start));
    EXPECT_TRUE(tokenizer->endsTurn(257 + 3));
    EXPECT_TRUE(tokenizer->endsTurn(257 + 1));
    EXPECT_TRUE(tokenizer->isSpecial(start));
    for (const TokenId id : tokenizer->encodeText("<|start|>")) EXPECT_NE(id, start);
    ASSERT_EQ(tokenizer->warnings().size(), 2u);
    EXPECT_NE(tokenizer->warnings()[0].find("<|start|>"), std::string::npos);
    EXPECT_NE(tokenizer->warnings()[1].find("eos_token_id"), std::string::npos);
}

TEST(Tokenizer, DamagedVocabulariesAreRefusedInWords) {
    const auto tokens = smallVocabulary();
    EXPECT_FALSE(readBuilt(test::GgufBuilder("muse-glimmer")).ok());
    EXPECT_FALSE(readBuilt(smallFile({}, {}, {})).ok());
    EXPECT_FALSE(readBuilt(smallFile(tokens, {1, 1}, {})).ok()) << "types of another count";
    EXPECT_FALSE(readBuilt(smallFile(tokens, {}, {"ab"})).ok()) << "a merge with one part";

    auto withoutByte = tokens;
    withoutByte['x'] = "xx";
    const auto noByte = readBuilt(smallFile(withoutByte, {}, {}));
    ASSERT_FALSE(noByte.ok());
    EXPECT_NE(noByte.error().message.find("byte 120"), std::string::npos);

    test::GgufBuilder other("muse-glimmer");
    other.text("tokenizer.ggml.model", "llama").texts("tokenizer.ggml.tokens", tokens);
    const auto kind = readBuilt(other);
    ASSERT_FALSE(kind.ok());
    EXPECT_EQ(kind.error().code, engine::ErrorCode::Unsupported);
}

TEST(Tokenizer, AVocabularyOfTheReleasedSizeLoadsQuickly) {
    // Made words: 200,000 ordinary tokens and 440,000 merges, several leading to the same token.
    std::vector<std::string> tokens = byteTokens();
    std::vector<std::string> merges;
    std::mt19937 random(7);
    tokens.reserve(200'000);
    while (tokens.size() < 200'000) {
        const std::string& left = tokens[random() % tokens.size()];
        const std::string& right = tokens[random() % 256];
        if (left.size() > 24) continue;
        merges.push_back(left + " " + right);
        tokens.push_back(left + right);
    }
    while (merges.size() < 440'000) merges.push_back(merges[random() % merges.size()]);
    tokens.resize(static_cast<std::size_t>(engine::kReleasedVocabulary));
    for (std::size_t i = 200'000; i < tokens.size(); ++i) {
        tokens[i] = "<|reserved_special_token_" + std::to_string(i - 200'000) + "|>";
    }
    const std::vector<std::pair<std::size_t, std::string>> markers = {
        {200000, "<|begin_of_text|>"},
        {200001, "<|end_of_text|>"},
        {200007, "<|eom|>"},
        {200008, "<|eot|>"},
        {200018, "<|finetune_right_pad|>"},
        {200022, "<|start|>"},
        {200023, "<|message|>"},
        {200080, "<|image_start|>"},
        {200081, "<|image_end|>"},
        {200091, "<|video|>"},
        {200092, "<|patch|>"}};
    for (const auto& [id, text] : markers) tokens[id] = text;
    const std::vector<std::byte> bytes = smallFile(tokens, {}, merges).bytes();
    const auto file = GgufFile::fromBytes(bytes, "large");
    ASSERT_TRUE(file.ok()) << file.error().message;
    const std::clock_t begin = std::clock();
    const auto tokenizer = Tokenizer::read(*file);
    const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    std::printf("read in %.0f ms\n", seconds * 1000);
    ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
    EXPECT_TRUE(tokenizer->isSpecial(201'818));
    EXPECT_LT(seconds,
              3.0); // a fifth of a second alone; the bound leaves room for a busy machine
}
