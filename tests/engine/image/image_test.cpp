#include "engine/model/image.h"

#include "tests/engine/image/picture_files.h"
#include "tests/support/temp_dir.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <random>

using namespace engine;
using test::asBytes;
using test::pictureFile;

namespace {

using Colour = std::array<int, 3>;
constexpr Colour kRed = {255, 0, 0};
constexpr Colour kGreen = {0, 255, 0};
constexpr Colour kBlue = {0, 0, 255};

Colour pixel(const RgbImage& image, int x, int y) {
    const std::uint8_t* p = &image.pixels[(static_cast<std::size_t>(y) * image.width + x) * 3];
    return {p[0], p[1], p[2]};
}

RgbImage decoded(std::string_view file, AlphaRule alpha = AlphaRule::LayOverWhite) {
    auto image = decodeImage(asBytes(file), alpha);
    EXPECT_TRUE(image.ok()) << image.error().message;
    return image.ok() ? std::move(*image) : RgbImage{1, 1, {9, 9, 9}};
}

Error refused(std::string_view file) {
    const auto image = decodeImage(asBytes(file));
    EXPECT_FALSE(image.ok());
    return image.ok() ? Error{} : image.error();
}

void expectNear(const Colour& actual, const Colour& expected, int tolerance) {
    for (int c = 0; c < 3; ++c) EXPECT_NEAR(actual[c], expected[c], tolerance);
}

// The scene of tests/fixtures/images: red bar on top, green square at the right, blue elsewhere.
void expectScene(const RgbImage& image, int tolerance) {
    ASSERT_EQ(image.width, 64);
    ASSERT_EQ(image.height, 48);
    ASSERT_EQ(image.pixels.size(), 64u * 48 * 3);
    expectNear(pixel(image, 4, 3), kRed, tolerance);
    expectNear(pixel(image, 60, 3), kRed, tolerance);
    expectNear(pixel(image, 56, 28), kGreen, tolerance);
    expectNear(pixel(image, 4, 28), kBlue, tolerance);
    expectNear(pixel(image, 4, 44), kBlue, tolerance);
}

} // namespace

TEST(Image, ReadsTheFormsOfJpegGifAndBmp) {
    expectScene(decoded(pictureFile("baseline.jpg")), 12);
    expectScene(decoded(pictureFile("progressive.jpg")), 12);
    expectScene(decoded(pictureFile("cmyk.jpg")), 24);
    expectScene(decoded(pictureFile("plain.bmp")), 0);
    expectScene(decoded(pictureFile("plain.gif")), 0);
    expectScene(decoded(pictureFile("animated.gif")),
                24); // the first frame, with a palette of its own
    const RgbImage grey = decoded(pictureFile("grey.jpg"));
    expectNear(pixel(grey, 4, 3), {76, 76, 76}, 4); // 0.299 of red, replicated
}

TEST(Image, ReadsTheDepthsOfPng) {
    const RgbImage ramp = decoded(pictureFile("grey16.png"));
    ASSERT_EQ(ramp.width, 256);
    for (int x = 0; x < 256; ++x) EXPECT_EQ(pixel(ramp, x, 0), (Colour{x, x, x}));
    const RgbImage bits = decoded(pictureFile("one_bit.png"));
    ASSERT_EQ(bits.width, 9);
    for (int x = 0; x < 9; ++x) EXPECT_EQ(pixel(bits, x, 0)[0], x % 2 ? 255 : 0);
    EXPECT_EQ(pixel(bits, 8, 1)[0], 0);
}

TEST(Image, TransparencyIsLaidOverWhiteOrDropped) {
    const std::string rgba("\x00\x00\x00\x00\xC8\x64\x00\xFF\xC8\x64\x00\x80\xFF\x00\x00\x01", 16);
    const std::string png = test::makePng(4, 1, 4, rgba);
    const RgbImage white = decoded(png);
    EXPECT_EQ(pixel(white, 0, 0), (Colour{255, 255, 255}));
    EXPECT_EQ(pixel(white, 1, 0), (Colour{200, 100, 0}));
    EXPECT_EQ(pixel(white, 2, 0), (Colour{227, 177, 127})); // 128 of 255 parts: 227.4, 177.2, 127.0
    EXPECT_EQ(pixel(white, 3, 0), (Colour{255, 254, 254}));
    const RgbImage dropped = decoded(png, AlphaRule::Drop);
    EXPECT_EQ(pixel(dropped, 0, 0), (Colour{0, 0, 0}));
    EXPECT_EQ(pixel(dropped, 2, 0), (Colour{200, 100, 0}));

    const RgbImage palette = decoded(pictureFile("palette_alpha.png"));
    EXPECT_EQ(pixel(palette, 0, 0), kRed);
    EXPECT_EQ(pixel(palette, 1, 0), (Colour{255, 255, 255}));
    EXPECT_EQ(pixel(palette, 2, 0), (Colour{127, 127, 255}));
    const RgbImage opaque = decoded(pictureFile("palette_alpha.png"), AlphaRule::Drop);
    EXPECT_EQ(pixel(opaque, 1, 0), kGreen);
    EXPECT_EQ(pixel(opaque, 2, 0), kBlue);
}

TEST(Image, PhonePhotosStandUpright) {
    // Where the scene's top bar and right square are in the stored picture for each orientation, so
    // that turning it gives the scene: the stored picture is the scene, so the upright one is the
    // scene turned.
    const std::string jpeg = pictureFile("baseline.jpg");
    struct Place {
        bool swapped;
        int redX, redY, greenX, greenY; // in the upright picture
    };
    const std::array<Place, 9> places = {{{},
                                          {false, 4, 3, 56, 28},
                                          {false, 59, 3, 7, 28},  // mirrored left-right
                                          {false, 59, 44, 7, 19}, // by 180 degrees
                                          {false, 4, 44, 56, 19}, // mirrored top-bottom
                                          {true, 3, 4, 28, 56},   // along the main diagonal
                                          {true, 44, 4, 19, 56},  // a quarter to the right
                                          {true, 44, 59, 19, 7},  // along the other diagonal
                                          {true, 3, 59, 28, 7}}}; // a quarter to the left
    for (const bool bigEndian : {false, true}) {
        for (const int type : {3, 4}) {
            for (std::uint32_t orientation = 1; orientation <= 8; ++orientation) {
                const auto tiff = test::exifTiff(bigEndian, orientation, type);
                const RgbImage image = decoded(test::withExif(jpeg, tiff));
                const Place& place = places[orientation];
                ASSERT_EQ(image.width, place.swapped ? 48 : 64) << orientation;
                ASSERT_EQ(image.height, place.swapped ? 64 : 48) << orientation;
                SCOPED_TRACE(orientation);
                expectNear(pixel(image, place.redX, place.redY), kRed, 12);
                expectNear(pixel(image, place.greenX, place.greenY), kGreen, 12);
            }
        }
    }
    // A PNG can say it too.
    const std::string pixels("\xFF\x00\x00\x00\x00\xFF", 6);
    const std::string chunk = test::pngChunk("eXIf", test::exifTiff(true, 6));
    const RgbImage png =
        decoded(test::makePng(2, 1, 8, 2, test::zlibStored(std::string(1, '\0') + pixels), chunk));
    ASSERT_EQ(png.height, 2);
    EXPECT_EQ(pixel(png, 0, 0), kRed);
    EXPECT_EQ(pixel(png, 0, 1), kBlue);
}

TEST(Image, MalformedExifIsIgnored) {
    const std::string jpeg = pictureFile("baseline.jpg");
    const std::string good = test::exifTiff(false, 6);
    std::vector<std::string> broken = {
        "",
        "II",
        "XX*\0",
        test::exifTiff(false, 0),
        test::exifTiff(true, 9),
        test::exifTiff(false, 6, 3).replace(4, 4, "\xFF\xFF\xFF\xFF", 4),
        test::exifTiff(false, 6, 3).replace(8, 2, "\xFF\xFF", 2).substr(0, 12),
        test::exifTiff(false, 6, 3).replace(2, 2, "\x2B\x00", 2)};
    std::string text = good;
    text[12] = 2; // the type "text"
    broken.push_back(text);
    for (std::size_t cut = 0; cut + 6 < good.size(); ++cut) broken.push_back(good.substr(0, cut));
    for (const std::string& tiff : broken) {
        const RgbImage image = decoded(test::withExif(jpeg, tiff));
        EXPECT_EQ(image.width,
                  tiff.size() >= 20 && tiff.substr(0, 20) == good.substr(0, 20) ? 48 : 64);
    }
}

TEST(Image, EmptyAndForeignFilesAreRefusedInWords) {
    EXPECT_EQ(refused("").code, ErrorCode::InvalidFile);
    EXPECT_NE(refused("").message.find("empty"), std::string::npos);
    EXPECT_EQ(refused("hello, I am text").code, ErrorCode::Unsupported);
    EXPECT_EQ(refused(std::string(100, '\0')).code, ErrorCode::Unsupported);
    const test::TempDir dir;
    const auto missing = readImage(dir / "missing.png");
    ASSERT_FALSE(missing.ok());
    EXPECT_EQ(missing.error().code, ErrorCode::Io);
    EXPECT_FALSE(readImage(dir.path()).ok()) << "a folder";
    const auto read = readImage(dir.write("a.txt", pictureFile("plain.bmp")));
    EXPECT_TRUE(read.ok()) << "by content, not by name";
}

TEST(Image, OtherFormatsAreNamed) {
    const auto ftyp = [](std::string_view brands) {
        std::string box("\0\0\0\0ftyp", 8);
        box += brands;
        box[3] = static_cast<char>(box.size());
        return box + std::string(64, '\0');
    };
    const std::string none(4, '\0');
    const std::vector<std::pair<std::string, ImageFormat>> files = {
        {ftyp("heic" + none + "mif1heic"), ImageFormat::Heic},
        {ftyp("mif1" + none + "mif1heic"), ImageFormat::Heic},
        {ftyp("avif" + none + "avifmif1"), ImageFormat::Avif},
        {ftyp("mif1" + none + "mif1avif"), ImageFormat::Avif},
        {ftyp("isom" + none + "mp42"), ImageFormat::Unknown},
        {std::string("RIFF\x20\0\0\0WEBPVP8 ", 16), ImageFormat::WebP},
        {std::string("II*\0\x08\0\0\0", 8), ImageFormat::Tiff},
        {std::string("MM\0*\0\0\0\x08", 8), ImageFormat::Tiff},
        {std::string("\0\0\1\0\1\0", 6), ImageFormat::Ico},
        {"\xFF\x0A", ImageFormat::Jxl},
        {"<?xml version=\"1.0\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\"/>", ImageFormat::Svg},
        {"<html><body>no picture</body></html>", ImageFormat::Unknown},
    };
    for (const auto& [bytes, format] : files) {
        EXPECT_EQ(imageFormat(asBytes(bytes)), format);
        const Error error = refused(bytes);
        EXPECT_EQ(error.code, ErrorCode::Unsupported);
        if (format != ImageFormat::Unknown) {
            EXPECT_NE(error.message.find(imageFormatName(format)), std::string::npos)
                << error.message;
        }
    }
}

TEST(Image, CutOffFilesAreErrorsAtEveryLength) {
    for (const char* name : {"baseline.jpg", "progressive.jpg", "cmyk.jpg", "plain.bmp",
                             "plain.gif", "grey16.png", "palette_alpha.png"}) {
        const std::string whole = pictureFile(name);
        // A GIF ends with a mark behind its picture and a PNG with a checksum; neither is needed.
        const std::string_view kind =
            std::string_view(name).substr(std::string_view(name).size() - 3);
        const std::size_t needed = whole.size() - (kind == "gif" ? 1 : kind == "png" ? 4 : 0);
        for (std::size_t cut = 0; cut < needed; cut += cut < 64 || cut + 64 > needed ? 1 : 61) {
            EXPECT_FALSE(decodeImage(asBytes(std::string_view(whole).substr(0, cut))).ok())
                << name << cut;
        }
    }
    EXPECT_NE(refused(pictureFile("baseline.jpg").substr(0, 900)).message.find("incomplete"),
              std::string::npos);
}

TEST(Image, BombsAreRefusedBeforeMemoryIsTaken) {
    const std::string little = test::zlibStored("x");
    const Error bomb = refused(test::makePng(65535, 65535, 8, 6, little));
    EXPECT_EQ(bomb.code, ErrorCode::Unsupported);
    EXPECT_NE(bomb.message.find("100 million"), std::string::npos);
    EXPECT_EQ(refused(test::makePng(20000, 20000, 8, 2, little)).code, ErrorCode::Unsupported);
    EXPECT_FALSE(decodeImage(asBytes(test::makePng(0xFFFFFFFF, 1, 8, 2, little))).ok());
    EXPECT_FALSE(decodeImage(asBytes(test::makePng(0, 5, 8, 2, little))).ok());
    // Within the limit of pixels, but nothing behind the header.
    EXPECT_EQ(refused(test::makePng(9999, 9999, 8, 2, little)).code, ErrorCode::InvalidFile);
    // A JPEG whose frame says 16,000 x 5,000.
    std::string jpeg = pictureFile("baseline.jpg");
    const std::size_t frame = jpeg.find("\xFF\xC0");
    ASSERT_NE(frame, std::string::npos);
    jpeg.replace(frame + 5, 4, "\x13\x88\x3E\x80");
    EXPECT_EQ(refused(jpeg).code, ErrorCode::InvalidFile);
    // A BMP whose header promises what the file does not hold.
    std::string bmp = pictureFile("plain.bmp");
    bmp.replace(18, 4, std::string("\x00\x20\0\0", 4));
    EXPECT_EQ(refused(bmp).code, ErrorCode::InvalidFile);
}

TEST(Image, CodeTablesThatWouldOverrunTheDecoderAreRefused) {
    const std::string jpeg = pictureFile("baseline.jpg");
    const std::size_t table = jpeg.find("\xFF\xC4");
    ASSERT_NE(table, std::string::npos);
    std::string tooMany = jpeg; // 16 counts behind the marker, the length and the table's place
    tooMany.replace(table + 5, 16, std::string(16, '\x20'));
    EXPECT_NE(refused(tooMany).message.find("code tables"), std::string::npos);
    std::string tooShort = jpeg;
    tooShort.replace(table + 5, 16, std::string(8, '\0') + '\xFF' + std::string(7, '\0'));
    EXPECT_EQ(refused(tooShort).message.find("code tables"), std::string::npos)
        << "255 are allowed";
    tooShort[table + 5 + 7] = 1; // one more, of 8 bits
    EXPECT_NE(refused(tooShort).message.find("code tables"), std::string::npos);
}

TEST(Image, DamagedFilesNeverCrash) {
    const unsigned seed = std::random_device{}();
    std::printf("seed %u\n", seed);
    std::mt19937 random(seed);
    for (const char* name : {"baseline.jpg", "progressive.jpg", "cmyk.jpg", "plain.bmp",
                             "animated.gif", "grey16.png", "palette_alpha.png"}) {
        const std::string whole = pictureFile(name);
        for (int round = 0; round < 150; ++round) {
            std::string file = whole;
            for (unsigned n = 1 + random() % 6; n > 0; --n) {
                // Headers break more often than data.
                const std::size_t range =
                    random() % 2 ? file.size() : std::min<std::size_t>(file.size(), 80);
                file[random() % range] = static_cast<char>(random());
            }
            const auto image = decodeImage(asBytes(file));
            if (!image.ok()) {
                EXPECT_FALSE(image.error().message.empty());
                continue;
            }
            EXPECT_EQ(image->pixels.size(),
                      static_cast<std::size_t>(image->width) * image->height * 3);
        }
    }
}
