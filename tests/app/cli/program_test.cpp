// glint-cli as it is started from a shell.

#include "tests/support/temp_dir.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#ifndef _WIN32
#    include <sys/resource.h>
#    include <sys/wait.h>
#    include <unistd.h>
#endif

namespace {

const std::string kTrio = GLINT_FIXTURES "/oracle/tiny-f32/";

struct Outcome {
    int code = -1;
    std::string out;
    std::string error;
};

// `arguments` in the shell's own quoting.
Outcome glint(const std::string& arguments) {
    const test::TempDir dir;
    const std::string out = (dir / "out").string();
    const std::string error = (dir / "error").string();
    const std::string command =
        "\"" GLINT_CLI "\" " + arguments + " >\"" + out + "\" 2>\"" + error + "\"";
    const int status = std::system(command.c_str());
    Outcome outcome;
#ifdef _WIN32
    outcome.code = status;
#else
    outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
#endif
    outcome.out = test::readWholeFile(out);
    outcome.error = test::readWholeFile(error);
    return outcome;
}

void expectBadInput(const std::string& arguments) {
    const Outcome outcome = glint(arguments);
    EXPECT_EQ(outcome.code, 2) << arguments << "\n" << outcome.error;
    EXPECT_EQ(outcome.out, "") << arguments;
    // One sentence.
    EXPECT_EQ(std::count(outcome.error.begin(), outcome.error.end(), '\n'), 1) << outcome.error;
    EXPECT_TRUE(outcome.error.ends_with(".\n")) << outcome.error;
}

std::string idsText(const nlohmann::json& ids) {
    std::string text;
    for (const int id : ids) text += std::to_string(id) + " ";
    return "\"" + text + "\"";
}

const std::string kModel = "--model " + kTrio + "target.gguf --ctx 512 ";
const std::string kExact = "--math float --kv f32 --temp 0 --ignore-eos --json ";

TEST(Program, HelpNamesEveryCommand) {
    const Outcome outcome = glint("--help");
    EXPECT_EQ(outcome.code, 0);
    for (const char* command :
         {"run", "bench", "inspect", "tokenize", "render", "logits", "embed-image", "fixture"}) {
        EXPECT_NE(outcome.out.find(command), std::string::npos) << command;
        const Outcome help = glint(std::string(command) + " --help");
        EXPECT_EQ(help.code, 0) << command;
        EXPECT_NE(help.out.find("--json"), std::string::npos) << command;
    }
}

TEST(Program, RunGivesTheReferencesTokensAndFigures) {
    std::ifstream in(kTrio + "cases.json");
    const nlohmann::json known = nlohmann::json::parse(in)["dflash"][0];
    const std::string tokens = std::to_string(known["tokens"].size());
    nlohmann::json texts[2];
    for (const int length : {0, 15}) {
        const Outcome outcome =
            glint("run " + kModel + kExact + "--draft " + kTrio + "dflash.gguf --ids " +
                  idsText(known["prompt"]) + " --max-tokens " + tokens + " --draft-len " +
                  std::to_string(length));
        ASSERT_EQ(outcome.code, 0) << outcome.error;
        EXPECT_EQ(outcome.error, "");
        const nlohmann::json answer = nlohmann::json::parse(outcome.out);
        EXPECT_EQ(answer["ids"], known["tokens"]);
        EXPECT_EQ(answer["prompt_tokens"], known["prompt"].size());
        EXPECT_EQ(answer["drafted"].get<int>() > 0, length > 0);
        EXPECT_EQ(answer["tau"].get<double>() > 2, length > 0);
        const std::string finish = answer["finish"];
        EXPECT_TRUE(finish == "length" || finish == "length_while_thinking") << finish;
        for (const char* key :
             {"text", "thinking", "cycles", "accepted", "prefill_ms", "decode_ms"}) {
            EXPECT_TRUE(answer.contains(key)) << key;
        }
        texts[length > 0] = answer["text"];
    }
    EXPECT_EQ(texts[0], texts[1]);
}

TEST(Program, RunReadsAPictureBeforeTheMessage) {
    const Outcome outcome =
        glint("run " + kModel + kExact + "--mmproj " + kTrio + "mmproj.gguf --image " + kTrio +
              "images/odd.png --prompt \"What is shown here?\" --strength low --max-tokens 4");
    ASSERT_EQ(outcome.code, 0) << outcome.error;
    const nlohmann::json answer = nlohmann::json::parse(outcome.out);
    EXPECT_EQ(answer["ids"].size(), 4u);
    EXPECT_GT(answer["prompt_tokens"].get<int>(), 88 + 2); // the picture's rows and its frame
}

TEST(Program, TheSameSeedGivesTheSameText) {
    const std::string start = "run " + kModel + "--prompt Hello --max-tokens 12 --json --seed ";
    const auto ids = [&](const char* seed) {
        return nlohmann::json::parse(glint(start + seed).out)["ids"];
    };
    EXPECT_EQ(ids("5"), ids("5"));
    EXPECT_NE(ids("5"), ids("6"));
}

TEST(Program, AnswersBadInputWithASentence) {
    const test::TempDir dir;
    const std::string model = "--model " + kTrio + "target.gguf ";
    const std::string prompt = "--prompt x ";
    const std::string empty = dir.write("empty", "").string();
    const std::string text = dir.write("text", "Dear reader").string();

    expectBadInput("");
    expectBadInput("fly");
    expectBadInput("run");
    expectBadInput("run --nonsense");
    expectBadInput("run " + model);
    expectBadInput("run " + model + prompt + "--ids 5");
    expectBadInput("run " + model + "--ids \"5 99999\"");
    expectBadInput("run " + model + "--ids \"5 x\"");
    expectBadInput("run " + model + "--ids \" \"");
    expectBadInput("run " + model + prompt + "stray");
    expectBadInput("run " + model + prompt + "--max-tokens -1");
    expectBadInput("run " + model + prompt + "--max-tokens 0");
    expectBadInput("run " + model + prompt + "--draft-len 16");
    expectBadInput("run " + model + prompt + "--strength extreme");
    expectBadInput("run " + model + prompt + "--date 2026-13-45");
    expectBadInput("run " + model + prompt + "--date tomorrow");
    expectBadInput("run " + model + prompt + "--temp -1");
    expectBadInput("run " + model + prompt + "--top-k 1.5");
    expectBadInput("run " + model + prompt + "--backend cuda --math float");
    expectBadInput("run " + model + prompt + "--backend gpu");
    expectBadInput("run " + model + prompt + "--kv f8");
    expectBadInput("run " + model + prompt + "--ctx 1000000");
    expectBadInput("run " + model + prompt + "--ctx 16"); // shorter than the prompt
    expectBadInput("run " + model + "--messages " + empty);
    expectBadInput("run " + model + "--messages " + text);
    expectBadInput("run " + model + prompt + "--image " + kTrio +
                   "images/odd.png"); // no vision part
    expectBadInput("run --model " + empty + " " + prompt);
    expectBadInput("run --model " + text + " " + prompt);
    expectBadInput("run --model " + dir.path().string() + " " + prompt);
    expectBadInput("run --model " + kTrio + "mmproj.gguf " + prompt);
    expectBadInput("run " + model + prompt + "--draft " + kTrio + "mmproj.gguf");
    expectBadInput("run " + model + prompt + "--mmproj " + kTrio + "dflash.gguf");
    expectBadInput("bench --model " + empty);
    expectBadInput("bench " + model + "--prompt-tokens 0");
}

std::string bigEndian(std::uint32_t value) {
    return {char(value >> 24), char(value >> 16), char(value >> 8), char(value)};
}

TEST(Program, AnswersBadPicturesWithoutTakingMemory) {
    const test::TempDir dir;
    const std::string start =
        "run " + kModel + "--mmproj " + kTrio + "mmproj.gguf --prompt x --max-tokens 1 --image ";
    expectBadInput(start + dir.write("empty.png", "").string());
    expectBadInput(start + dir.write("text.png", "Dear reader").string());
    const std::string whole = test::readWholeFile(kTrio + "images/odd.png");
    expectBadInput(start + dir.write("cut.png", whole.substr(0, whole.size() / 2)).string());
    // 65,535 x 65,535 pixels in the header, and no more.
    std::string bomb = whole.substr(0, 16) + bigEndian(65535) + bigEndian(65535) + whole.substr(24);
    expectBadInput(start + dir.write("bomb.png", bomb).string());
#ifndef _WIN32
    rusage usage{};
    ASSERT_EQ(getrusage(RUSAGE_CHILDREN, &usage), 0);
    EXPECT_LT(usage.ru_maxrss, 1'000'000) << "kilobytes"; // of the largest child so far
#endif
}

#ifdef __linux__
TEST(Program, OutputThatCannotBeWrittenIsAFault) {
    const test::TempDir dir;
    const std::string error = (dir / "error").string();
    const int status = std::system(
        ("\"" GLINT_CLI "\" inspect " + kTrio + "target.gguf >/dev/full 2>" + error).c_str());
    EXPECT_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 1);
    EXPECT_EQ(test::readWholeFile(error), "glint-cli: the output could not be written.\n");
}
#endif

#ifndef _WIN32
// At the first words, so neither while the model loads nor when the answer is complete, and once:
// a second interrupt ends the program at once, as it should, and timeout(1) sends two.
TEST(Program, AnInterruptEndsTheAnswerCleanly) {
    const test::TempDir dir;
    const std::string error = (dir / "error").string(); // figures, and notes about the card
    const std::string command = "exec \"" GLINT_CLI "\" run --model " + kTrio +
                                "target.gguf --prompt x --ignore-eos 2>\"" + error + "\"";
    int pipeEnds[2];
    ASSERT_EQ(pipe(pipeEnds), 0);
    const pid_t child = fork();
    ASSERT_NE(child, -1);
    if (child == 0) {
        dup2(pipeEnds[1], STDOUT_FILENO);
        execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
        _exit(127);
    }
    close(pipeEnds[1]);
    std::string output;
    char buffer[4096];
    ssize_t got = read(pipeEnds[0], buffer, 1);
    kill(child, SIGINT);
    for (; got > 0; got = read(pipeEnds[0], buffer, sizeof buffer)) output.append(buffer, got);
    close(pipeEnds[0]);
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_FALSE(output.empty());
    EXPECT_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), 0) << output;
    EXPECT_NE(test::readWholeFile(error).find("\n[cancelled; read "), std::string::npos);
}
#endif

} // namespace
