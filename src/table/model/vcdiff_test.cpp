#include "table/model/vcdiff.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "table/model/adler32.h"
#include "table/model/limits.h"
#include "table/model/test_patches.h"
#include "table/model/vcdiff_codes.h"

namespace moraine::table {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kFox = "The quick brown fox jumps over the lazy dog.";

std::string applied(std::string_view patch, std::string_view source) {
  const auto decoded = decode_vcdiff(patch);
  if (!decoded) return decoded.error().message();
  const auto target = apply_vcdiff(*decoded, source);
  return target ? *target : target.error().message();
}

std::string composed(std::string_view earlier, std::string_view later) {
  const auto both =
      compose_vcdiff(decode_vcdiff(earlier).value(), decode_vcdiff(later).value()).value();
  return encode_vcdiff(both).value();
}

// Written by xdelta3 3.0.11 with `-n -A= -S none`.
constexpr std::string_view kPlain =
    "\xd6\xc3\xc4\x00\x00\x01\x2c\x00\x12\x2d\x00\x06\x05\x02\x4a\x55\x4d\x50\x45\x44\x13\x14"
    "\x07\x13\x13\x00\x19"sv;

TEST(VcdiffByXdelta3, CopiesAndAdds) {
  EXPECT_EQ(applied(kPlain, kFox), "The quick brown fox JUMPED over the lazy dog.");
  // Nothing in common: `12243465` for `12345`.
  EXPECT_EQ(applied("\xd6\xc3\xc4\x00\x00\x00\x0e\x08\x00\x08\x01\x00"
                    "12243465\x09"sv,
                    "12345"),
            "12243465");
  EXPECT_EQ(applied("\xd6\xc3\xc4\x00\x00\x00\x05\x00\x00\x00\x00\x00"sv, kFox), "");
}

TEST(VcdiffByXdelta3, AnApplicationHeaderAChecksumAndARun) {
  // `-A=app -S none`
  constexpr std::string_view patch =
      "\xd6\xc3\xc4\x00\x04\x03\x61\x70\x70\x05\x23\x00\x32\x6c\x00\x22\x06\x01\xa4\x9d\x1d\xfa"
      "sleeping dog. The quick brown fox!\x13\x23\x01\x21\x00\x28\x00"sv;
  EXPECT_EQ(applied(patch, kFox),
            "The quick brown fox jumps over the sleeping dog. The quick brown fox" +
                std::string(40, '!'));
  std::string other(patch);
  other[23] ^= 1;
  EXPECT_EQ(applied(other, kFox), "corrupt: VCDIFF patch: the target does not match its checksum");
}

TEST(VcdiffByXdelta3, ManyWindowsHaveOneChecksumTogether) {
  // `-A= -S none -W 16384`
  constexpr std::string_view patch =
      "\xd6\xc3\xc4\x00\x00\x04\x10\x81\x80\x00\x00\x01\x04\x00\xb4\x38\x81\xc3\x7a\x00\x81\x80"
      "\x00\x04\x10\x81\x80\x00\x00\x01\x04\x00\xb4\x38\x81\xc3\x7a\x00\x81\x80\x00\x04\x12\xb8"
      "\x43\x00\x04\x04\x00\x35\x4e\x78\x7b\x7a\x65\x6e\x64\x00\xb8\x40\x04"sv;
  const std::string target = std::string(40'000, 'z') + "end";
  EXPECT_EQ(applied(patch, "zz"), target);
  EXPECT_EQ(decode_vcdiff(patch)->checksum, adler32(target));
}

TEST(VcdiffByXdelta3, AddressesOfAllKindsAndPairedInstructions) {
  std::string source;
  for (int i = 0; i < 100; ++i) source += fmt::format("<{:04}>", i * i * 37 % 10'007);
  // `-n -A= -S none -9`
  constexpr std::string_view patch =
      "\xd6\xc3\xc4\x00\x00\x01\x83\x36\x5a\x52\x81\x61\x00\x27\x15\x10jysyzncoGIVU-ace<2385>"
      "ecuYRIF-yxdZRHE-j\x22\x03\x32\x02\x32\x03\x32\x09\x24\x32\x0c\x22\x07\x24\x22\x09\x24\x82"
      "\x33\x18\xb1\x81\x10\x14\x13\x14\x05\x1e\x00\x05\x82\x02\x05\x90\x81\x1c\x6d"sv;
  EXPECT_EQ(applied(patch, source),
            "<6242><9165><2155>jy<6242><9165><2155>s<6242><9165><2155>yz<6242><9165><2155>ncoGIVU-"
            "GIVU<6242><9165><2155>ace<2385>ec<8325><9472><0686>uYRIF-YRIF<4384><8713><3109>"
            "yxdZRHE-ZRHE<6242><9165><2155><0890><7143><3463><9864>j<2385>");
}

TEST(VcdiffByXdelta3, ACompressorThatWasNotUsedDoesNotMatter) {
  // `-n -A= -S djw`
  std::string patch(
      "\xd6\xc3\xc4\x00\x01\x01\x01\x78\x00\x0d\x79\x00\x01\x05\x02\x2b\x13\x32\x02\x13\x46\x00"
      "\x32"sv);
  const std::string source(120, 's');
  EXPECT_EQ(applied(patch, source), source.substr(0, 50) + "+" + source.substr(50));
  patch[11] = 1;
  EXPECT_EQ(applied(patch, source),
            "not supported: VCDIFF patch: secondary compression is not supported");
}

TEST(VcdiffCodes, TheTableIsThatOfTheRfc) {
  const VcdiffCodeTable& table = vcdiff_code_table();
  const auto text = [&](std::size_t i) {
    std::string out;
    for (const VcdiffCode::Half& half : table[i].halves) {
      constexpr std::string_view kNames[] = {"", "ADD", "RUN", "COPY"};
      const auto op = static_cast<std::size_t>(half.op);
      if (op == 0) continue;
      out += fmt::format("{} {} {};", kNames[op], half.size, half.mode);
    }
    return out;
  };
  EXPECT_EQ(text(0), "RUN 0 0;");
  EXPECT_EQ(text(1), "ADD 0 0;");
  EXPECT_EQ(text(18), "ADD 17 0;");
  EXPECT_EQ(text(19), "COPY 0 0;");
  EXPECT_EQ(text(20), "COPY 4 0;");
  EXPECT_EQ(text(34), "COPY 18 0;");
  EXPECT_EQ(text(35), "COPY 0 1;");
  EXPECT_EQ(text(162), "COPY 18 8;");
  EXPECT_EQ(text(163), "ADD 1 0;COPY 4 0;");
  EXPECT_EQ(text(174), "ADD 4 0;COPY 6 0;");
  EXPECT_EQ(text(175), "ADD 1 0;COPY 4 1;");
  EXPECT_EQ(text(234), "ADD 4 0;COPY 6 5;");
  EXPECT_EQ(text(235), "ADD 1 0;COPY 4 6;");
  EXPECT_EQ(text(246), "ADD 4 0;COPY 4 8;");
  EXPECT_EQ(text(247), "COPY 4 0;ADD 1 0;");
  EXPECT_EQ(text(255), "COPY 4 8;ADD 1 0;");
}

TEST(Adler32, IsThatOfZlibAndJoins) {
  EXPECT_EQ(adler32(""), 1U);
  EXPECT_EQ(adler32("Wikipedia"), 0x11e60398U);
  const std::string all(100'000, '\xff');
  EXPECT_EQ(adler32(all),
            join_adler32(adler32(all.substr(0, 70'000)), adler32(all.substr(70'000)), 30'000));
  EXPECT_EQ(join_adler32(adler32("Wiki"), adler32("pedia"), 5), 0x11e60398U);
}

TEST(VcdiffDecode, ASegmentMayBeOfTheTarget) {
  PatchWriter writer;
  writer.add("abcdef");
  writer.finish_window('\0', 0, 0);
  writer.copy(1, 6);  // "cde" of the segment "bcde", and what the window has by then.
  writer.finish_window('\x02', 1, 4);
  EXPECT_EQ(applied(writer.patch(), ""), "abcdefcdecde");
}

TEST(VcdiffDecode, BytesThatAreNoPatchAreRefused) {
  for (const std::string_view patch :
       {""sv, "\xd6\xc3\xc4"sv, "\xd6\xc3\xc4S\0"sv, "\xd6\xc3\xc4\0\x08"sv,
        "\xd6\xc3\xc4\0\x04\x09"sv, "\xd6\xc3\xc4\0\0\x03"sv,
        "\xd6\xc3\xc4\0\0\0\x06\0\0\0\0\0"sv}) {
    EXPECT_EQ(decode_vcdiff(patch).error().code, Errc::kCorrupt);
  }
  EXPECT_EQ(decode_vcdiff("\xd6\xc3\xc4\0\x02"sv).error().code, Errc::kUnsupported);
  // Every truncation of a good patch, except right after the header.
  for (std::size_t size = 6; size < kPlain.size(); ++size) {
    EXPECT_FALSE(decode_vcdiff(kPlain.substr(0, size))) << size;
  }
  EXPECT_FALSE(decode_vcdiff(std::string(kPlain) + '\x08'));
}

TEST(VcdiffDecode, InstructionsStayWithinTheirWindow) {
  const auto code = [](auto fill, char flags = 0, std::size_t begin = 0, std::size_t size = 0) {
    PatchWriter writer;
    fill(writer);
    writer.finish_window(flags, begin, size);
    const auto decoded = decode_vcdiff(writer.patch());
    return decoded ? "fine" : decoded.error().message();
  };
  EXPECT_EQ(code([](PatchWriter& w) { w.copy(0, 1); }),
            "corrupt: VCDIFF patch: an address beyond the current position");
  EXPECT_EQ(code([](PatchWriter& w) { w.copy(5, 1); }, 1, 0, 5),
            "corrupt: VCDIFF patch: an address beyond the current position");
  EXPECT_EQ(code([](PatchWriter& w) { w.copy(4, 3); }, 1, 0, 5), "fine");
  EXPECT_EQ(code([](PatchWriter& w) { w.add("a"); }, 2, 0, 1),
            "corrupt: VCDIFF patch: a segment outside of the target");
  EXPECT_EQ(code([](PatchWriter& w) { w.run('a', kValueBytesMax); }), "fine");
  EXPECT_EQ(code([](PatchWriter& w) { w.run('a', kValueBytesMax + 1); }),
            "no space: VCDIFF patch: too large: the target");
  EXPECT_EQ(code([](PatchWriter& w) { w.add("a"); }, 1, kValueBytesMax, 1),
            "no space: VCDIFF patch: too large: the source");
}

TEST(VcdiffDecode, WindowsAreBounded) {
  PatchWriter writer;
  for (std::size_t i = 0; i < kVcdiffWindowsMax; ++i) writer.finish_window('\0', 0, 0);
  EXPECT_TRUE(decode_vcdiff(writer.patch()));
  writer.finish_window('\0', 0, 0);
  EXPECT_EQ(decode_vcdiff(writer.patch()).error().code, Errc::kNoSpace);
}

TEST(VcdiffApply, ASourceThatIsTooShortIsRefused) {
  EXPECT_EQ(applied(kPlain, kFox.substr(0, 43)),
            "corrupt: VCDIFF patch: copies bytes beyond the source");
}

TEST(VcdiffEncode, WhatWasDecodedIsEncodedInAsFewBytes) {
  const Vcdiff patch = decode_vcdiff(kPlain).value();
  EXPECT_EQ(encode_vcdiff(patch).value(), kPlain);
}

TEST(VcdiffCompose, EditsAtTwoPlacesMakeOnePatchOfBoth) {
  const std::string middle = applied(kPlain, kFox);
  const std::string target = "A" + middle.substr(3);
  const std::string patch = composed(kPlain, patch_between(middle, target));
  EXPECT_EQ(applied(patch, kFox), target);
  EXPECT_LT(patch.size(), 35U);
}

TEST(VcdiffCompose, RepeatsStayRepeats) {
  PatchWriter writer;
  writer.add("x");
  writer.copy(0, 3);  // Of the source.
  writer.copy(3, 1'000'000);
  writer.finish_window('\x01', 0, 3);
  std::string middle = applied(writer.patch(), "abc");
  ASSERT_EQ(middle.size(), 1'000'004U);
  std::string target = middle;
  target[500'000] = '!';
  const std::string patch = composed(writer.patch(), patch_between(middle, target));
  EXPECT_EQ(applied(patch, "abc"), target);
  EXPECT_LT(patch.size(), 100U);
}

TEST(VcdiffCompose, TheLongestRepeatMayBeCutAnywhere) {
  PatchWriter writer;
  writer.copy(0, 1);  // Of the source.
  writer.copy(1, kValueBytesMax - 1);
  writer.finish_window('\x01', 0, 1);
  for (const std::size_t cut : {std::size_t{1}, kValueBytesMax / 2, kValueBytesMax - 1}) {
    PatchWriter later;
    later.copy(cut, kValueBytesMax - cut);
    later.finish_window('\x01', 0, kValueBytesMax);
    EXPECT_EQ(applied(composed(writer.patch(), later.patch()), "x"),
              std::string(kValueBytesMax - cut, 'x'));
  }
}

TEST(VcdiffCompose, ALaterPatchForALongerTargetIsRefused) {
  const auto both = compose_vcdiff(decode_vcdiff(kPlain).value(),
                                   decode_vcdiff(patch_between(std::string(46, 'a'), "a")).value());
  EXPECT_TRUE(both);
  PatchWriter writer;
  writer.copy(40, 6);
  writer.finish_window('\x01', 0, 46);
  EXPECT_EQ(compose_vcdiff(decode_vcdiff(kPlain).value(), decode_vcdiff(writer.patch()).value())
                .error()
                .code,
            Errc::kCorrupt);
}

TEST(VcdiffCompose, RandomPatchesAfterEachOtherDoWhatTheirCompositionDoes) {
  constexpr int kRounds = 3'000;
  SeededRandom random(11);
  for (int round = 0; round < kRounds; ++round) {
    std::string source(random.below(60), '\0');
    for (char& c : source) c = static_cast<char>('A' + random.below(26));
    const RandomPatch first = random_patch(random, source);
    const RandomPatch second = random_patch(random, first.target);
    const RandomPatch third = random_patch(random, second.target);
    ASSERT_EQ(applied(first.patch, source), first.target) << round;
    ASSERT_EQ(applied(second.patch, first.target), second.target) << round;
    const std::string head = composed(first.patch, second.patch);
    ASSERT_EQ(applied(head, source), second.target) << round;
    ASSERT_EQ(applied(composed(head, third.patch), source), third.target) << round;
    const std::string tail = composed(second.patch, third.patch);
    ASSERT_EQ(applied(composed(first.patch, tail), source), third.target) << round;
  }
}

}  // namespace
}  // namespace moraine::table
