#include "engine/base/mapped_file.h"

#include "tests/support/temp_dir.h"

#include <gtest/gtest.h>

#include <string>

namespace engine {
namespace {

std::string_view text(const MappedFile& file) {
    return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

TEST(MappedFile, ShowsTheBytesAndMoves) {
    const test::TempDir dir;
    auto opened = MappedFile::open(dir.write("a", "some bytes"));
    ASSERT_TRUE(opened);
    MappedFile moved = std::move(opened).value();
    EXPECT_EQ(text(moved), "some bytes");
    MappedFile other;
    other = std::move(moved);
    EXPECT_EQ(text(other), "some bytes");
    EXPECT_EQ(moved.size(), 0);
}

TEST(MappedFile, KeepsTheBytesAfterReleasing) {
    const test::TempDir dir;
    std::string big;
    for (int i = 0; i < 100'000; ++i) big += static_cast<char>(i * 7);
    const auto file = MappedFile::open(dir.write("a", big));
    ASSERT_TRUE(file);
    file->adviseSequential(0, file->size());
    ASSERT_EQ(text(*file), big);
    file->release(0, file->size());
    file->release(5'000, 20'000);
    file->release(-4, 1 << 30);
    file->release(file->size(), 10);
    EXPECT_EQ(text(*file), big);
}

TEST(MappedFile, AnEmptyFileIsNoBytes) {
    const test::TempDir dir;
    const auto file = MappedFile::open(dir.write("a", ""));
    ASSERT_TRUE(file);
    EXPECT_TRUE(file->bytes().empty());
    file->adviseSequential(0, 1);
    file->release(0, 1);
}

TEST(MappedFile, SaysWhyItCannotOpen) {
    const test::TempDir dir;
    const auto missing = MappedFile::open(dir / "nothing");
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().code, ErrorCode::Io);
    EXPECT_EQ(missing.error().message, "there is no such file");
    const auto folder = MappedFile::open(dir.path());
    ASSERT_FALSE(folder);
    EXPECT_EQ(folder.error().message, "it is a folder");
#ifdef __linux__
    const auto device = MappedFile::open("/dev/null");
    ASSERT_FALSE(device);
    EXPECT_EQ(device.error().message, "it is not a file");
#endif
}

} // namespace
} // namespace engine
