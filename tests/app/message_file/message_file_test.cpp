#include "app/cli/message_file.h"

#include "tests/support/temp_dir.h"

#include <gtest/gtest.h>

using namespace engine;

namespace {

Result<std::vector<ChatMessage>> parse(std::string_view json,
                                       const std::filesystem::path& folder = ".") {
    return app::parseMessages(json, folder, AlphaRule::LayOverWhite);
}

std::string text(const ChatMessage& message, std::size_t part = 0) {
    return std::get<std::string>(message.parts.at(part));
}

std::string refused(std::string_view json) {
    const auto messages = parse(json);
    EXPECT_FALSE(messages.ok()) << json;
    if (messages.ok()) return {};
    EXPECT_EQ(messages.error().code, ErrorCode::InvalidFile);
    return messages.error().message;
}

} // namespace

TEST(MessageFile, ReadsRolesTextsAndReasoning) {
    for (const std::string_view form : {R"([MESSAGES])", R"({"messages": [MESSAGES]})"}) {
        std::string json(form);
        json.replace(json.find("MESSAGES"), 8, R"({"role": "system", "content": "Be brief."},
            {"role": "user", "content": " é\n"},
            {"role": "assistant", "content": "b", "reasoning_content": "r", "end_turn": false},
            {"role": "assistant", "content": null, "recipient": "self"})");
        const auto messages = parse(json);
        ASSERT_TRUE(messages.ok()) << messages.error().message;
        ASSERT_EQ(messages->size(), 4u);
        EXPECT_EQ((*messages)[0].role, ChatRole::System);
        EXPECT_EQ(text((*messages)[1]), " é\n");
        EXPECT_EQ((*messages)[2].thinking, "r");
        EXPECT_EQ((*messages)[2].endTurn, false);
        EXPECT_TRUE((*messages)[3].parts.empty());
        EXPECT_EQ((*messages)[3].recipient, "self");
    }
}

TEST(MessageFile, ReadsPicturesBesideTheFile) {
    const test::TempDir dir;
    const std::filesystem::path picture =
        std::filesystem::path(GLINT_FIXTURES) / "images" / "plain.bmp";
    dir.write("a.bmp", test::readWholeFile(picture));
    const auto path = dir.write("m.json", R"([{"role": "user", "content": [
        {"type": "image", "path": "a.bmp"}, {"type": "text", "text": "What?"}]}])");
    const auto messages = app::readMessageFile(path);
    ASSERT_TRUE(messages.ok()) << messages.error().message;
    const ChatMessage& message = messages->at(0);
    ASSERT_EQ(message.parts.size(), 2u);
    EXPECT_EQ(std::get<ChatPicture>(message.parts[0]).image->width, 64);
    EXPECT_EQ(text(message, 1), "What?");

    dir.write("m.json",
              R"([{"role": "user", "content": [{"type": "image", "path": "none.png"}]}])");
    const auto missing = app::readMessageFile(path);
    ASSERT_FALSE(missing.ok());
    EXPECT_NE(missing.error().message.find("message 1: none.png"), std::string::npos);
}

TEST(MessageFile, ToolCallsKeepTheirOrderAndForm) {
    const auto messages = parse(R"([{"role": "assistant", "tool_calls": [{"id": "c1", "function": {
        "name": "fs.read", "arguments": {"p": " a ", "n": 3, "f": 1.5, "b": true, "z": null,
        "l": [1, "x"], "o": {"k": "é"}}}}, {"name": "g", "arguments": "{\"q\": 1}"}]},
        {"role": "tool", "tool_call_id": "c1", "content": "OK"},
        {"role": "tool", "tool_call_id": "c9"}, {"role": "tool", "name": "h"}])");
    ASSERT_TRUE(messages.ok()) << messages.error().message;
    const std::vector<ToolCall>& calls = messages->at(0).calls;
    ASSERT_EQ(calls.size(), 2u);
    const std::vector<std::pair<std::string, std::string>> expected = {
        {"p", " a "},  {"n", "3"},          {"f", "1.5"},           {"b", "true"},
        {"z", "null"}, {"l", "[1, \"x\"]"}, {"o", "{\"k\": \"é\"}"}};
    EXPECT_EQ(calls[0].parameters, expected);
    EXPECT_EQ(calls[1].parameters.at(0).second, "1");
    EXPECT_EQ(messages->at(1).toolName, "fs.read") << "looked up by the call's id";
    EXPECT_EQ(messages->at(2).toolName, "c9") << "else the id itself";
    EXPECT_EQ(messages->at(3).toolName, "h");
}

TEST(MessageFile, OtherRolesAreLeftOut) { // case 14
    const auto messages =
        parse(R"([{"role": "developer", "content": "x"}, {"role": "user", "content": "y"}])");
    ASSERT_TRUE(messages.ok());
    ASSERT_EQ(messages->size(), 1u);
    EXPECT_EQ(text(messages->at(0)), "y");
}

TEST(MessageFile, BrokenFilesAreAnsweredInASentence) {
    EXPECT_NE(refused("").find("JSON"), std::string::npos);
    EXPECT_NE(refused("[{\"role\": \"user\", }]").find("byte"), std::string::npos);
    EXPECT_NE(refused("[{\"role\": \"user\", \"content\": \"\xFF\"}]").find("JSON"),
              std::string::npos);
    EXPECT_NE(refused("{}").find("messages"), std::string::npos);
    refused("3");
    refused("{\"messages\": 3}");
    EXPECT_NE(refused("[{\"role\": \"user\"}, 3]").find("message 2"), std::string::npos);
    refused("[{}]");
    refused(R"([{"role": 1}])");
    refused(R"([{"role": "user", "content": 1}])");
    refused(R"([{"role": "user", "content": [1]}])");
    refused(R"([{"role": "user", "content": [{"type": "audio"}]}])");
    refused(R"([{"role": "user", "content": [{"type": "image"}]}])");
    refused(R"([{"role": "assistant", "end_turn": 1}])");
    refused(R"([{"role": "assistant", "tool_calls": {}}])");
    refused(R"([{"role": "assistant", "tool_calls": [{"function": {}}]}])");
    refused(R"([{"role": "assistant", "tool_calls": [{"name": "f", "arguments": "no object"}]}])");
    const std::string deep = std::string(5000, '[') + std::string(5000, ']');
    EXPECT_NE(refused(R"([{"role": "assistant", "tool_calls": [{"name": "f", "arguments": {"a": )" +
                      deep + "}}]}]")
                  .find("deep"),
              std::string::npos);
    EXPECT_NE(refused(R"([{"role": "user", "content": "x", "n": 1e999999}])").find("too large"),
              std::string::npos);
    EXPECT_FALSE(app::readMessageFile("no such file.json").ok());
}

TEST(MessageFile, NestingBeyondTheStackIsRefused) {
    const std::string deep = std::string(500'000, '[') + std::string(500'000, ']');
    const auto call = [](const std::string& arguments) {
        return R"([{"role": "assistant", "tool_calls": [{"name": "f", "arguments": )" + arguments +
               "}]}]";
    };
    // Given as an object, and given as text that holds one.
    EXPECT_NE(refused(call("{\"a\": " + deep + "}")).find("deep"), std::string::npos);
    EXPECT_NE(refused(call("\"{\\\"a\\\": " + deep + "}\"")).find("deep"), std::string::npos);
    EXPECT_NE(refused(call(deep)).find("not an object"), std::string::npos);
}
