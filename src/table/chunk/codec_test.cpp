#include "table/chunk/codec.h"

#include <gtest/gtest.h>

#include "io/random.h"

namespace moraine::table {
namespace {

std::vector<std::string> all_names() {
  std::vector<std::string> names{"none", "lz4", "lz4_high_compression", "snappy"};
  for (int level = 1; level <= 21; ++level) names.push_back("zstd_" + std::to_string(level));
  for (int level = 1; level <= 9; ++level) names.push_back("zlib_" + std::to_string(level));
  for (int level = 1; level <= 11; ++level) names.push_back("brotli_" + std::to_string(level));
  for (int level = 0; level <= 9; ++level) names.push_back("lzma_" + std::to_string(level));
  for (int level = 1; level <= 9; ++level) names.push_back("bzip2_" + std::to_string(level));
  return names;
}

TEST(Codec, EveryNameIsReadAndWrittenAlike) {
  for (const std::string& name : all_names()) {
    const auto codec = parse_codec(name);
    ASSERT_TRUE(codec) << name;
    EXPECT_EQ(to_string(*codec), name);
  }
  for (const char* name :
       {"", "lz5", "zstd", "zstd_", "zstd_0", "zstd_22", "zstd_01", "zlib_10", "zlib_-1", "zlib_1x",
        "brotli_0", "brotli_12", "lzma_10", "lzma_00", "bzip2_0", "bzip2_10", "quick_lz"}) {
    EXPECT_FALSE(parse_codec(name)) << name;
  }
}

TEST(Codec, DecompressesWhatItCompressed) {
  SeededRandom random(1);
  for (const std::string& name : all_names()) {
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{8'000}}) {
      std::string text(size, '\0');
      for (char& c : text) c = static_cast<char>('a' + random.below(4));
      const Codec codec = *parse_codec(name);
      const Slice packed = compress(codec, as_bytes(text));
      const auto back = decompress(codec.kind, packed, size);
      ASSERT_TRUE(back) << name << ": " << back.error().message();
      EXPECT_EQ(back->text(), text);
      if (size > 1'000 && codec.kind != CodecKind::kNone) EXPECT_LT(packed.size(), size);
    }
  }
}

TEST(Codec, RefusesWhatIsDamagedOrOfAnotherSize) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += "some words " + std::to_string(i % 7);
  for (const std::string& name : all_names()) {
    const Codec codec = *parse_codec(name);
    const Slice packed = compress(codec, as_bytes(text));
    EXPECT_FALSE(decompress(codec.kind, packed, text.size() - 1)) << name;
    EXPECT_FALSE(decompress(codec.kind, packed, text.size() + 1)) << name;
    EXPECT_FALSE(decompress(codec.kind, packed.sub(0, packed.size() / 2), text.size())) << name;
    EXPECT_FALSE(decompress(codec.kind, {}, text.size())) << name;
  }
  const auto unknown = decompress(static_cast<CodecKind>(77), as_bytes(text), text.size());
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, Errc::kUnsupported);
}

}  // namespace
}  // namespace moraine::table
