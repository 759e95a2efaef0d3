#include "gateway/yt/coding.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace moraine::yt {
namespace {

std::string encode(Coding coding, std::string_view text, std::size_t piece) {
  const auto encoder = make_encoder(coding);
  std::string out;
  for (std::size_t at = 0; at < text.size(); at += piece) {
    out += encoder->encode(text.substr(at, piece), false);
  }
  return out + encoder->encode({}, true);
}

Result<std::string> decode(Coding coding, std::string_view bytes, std::size_t piece) {
  http::AnswerBudget budget(std::size_t{32} << 20);
  const auto decoder = make_decoder(coding, budget);
  std::string out;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    const std::string_view part = bytes.substr(at, piece);
    decoder->feed(as_bytes(part));
    for (;;) {
      TRY(const std::string got, decoder->pull());
      if (got.empty()) break;
      EXPECT_LE(got.size(), kCodingPieceBytes);
      out += got;
    }
  }
  TRY_VOID(decoder->finish());
  return out;
}

std::string sample() {
  std::string text;
  for (int i = 0; i < 60'000; ++i) text += std::to_string(i * i % 977);
  return text + std::string(1'000'000, 'a');
}

TEST(Codings, WhatWasEncodedIsDecoded) {
  const std::string text = sample();
  for (const Coding coding :
       {Coding::kIdentity, Coding::kGzip, Coding::kDeflate, Coding::kBrotli}) {
    const std::string coded = encode(coding, text, 10'000);
    for (const std::size_t piece : {std::size_t{1'000}, coded.size()}) {
      const auto back = decode(coding, coded, piece);
      ASSERT_TRUE(back) << to_string(coding) << ": " << back.error().message();
      EXPECT_TRUE(*back == text) << to_string(coding);
    }
    EXPECT_EQ(*decode(coding, encode(coding, "short", 1), 1), "short");
    EXPECT_EQ(*decode(coding, "", 1), "") << "a body that is empty";
  }
}

TEST(Codings, TheWindowOfBrotliIsTakenFromABudget) {
  const std::string coded = encode(Coding::kBrotli, std::string(1 << 20, 'a'), 1 << 20);
  http::AnswerBudget budget(std::size_t{200} << 10);
  http::AnswerRoom other(budget);
  ASSERT_TRUE(other.try_set(1));
  {
    const auto decoder = make_decoder(Coding::kBrotli, budget);
    decoder->feed(as_bytes(coded));
    Result<std::string> got;
    do got = decoder->pull();
    while (got && !got->empty());
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().code, Errc::kOverloaded);
    EXPECT_LE(budget.bytes(), std::size_t{200} << 10);
  }
  EXPECT_EQ(budget.bytes(), 1u);
  ASSERT_TRUE(other.try_set(std::size_t{200} << 10));
  const auto none = make_decoder(Coding::kBrotli, budget);
  none->feed(as_bytes(coded));
  EXPECT_EQ(none->pull().error().code, Errc::kOverloaded);
}

TEST(Codings, ZlibUnderTheNameOfGzip) {
  EXPECT_EQ(*decode(Coding::kGzip, encode(Coding::kDeflate, "rows", 9), 2), "rows");
  EXPECT_EQ(*decode(Coding::kDeflate, encode(Coding::kGzip, "rows", 9), 2), "rows");
}

TEST(Codings, MembersOfGzipFollowEachOther) {
  const std::string two = encode(Coding::kGzip, "one ", 9) + encode(Coding::kGzip, "two", 9);
  EXPECT_EQ(*decode(Coding::kGzip, two, 3), "one two");
}

TEST(Codings, DamagedAndShortBodiesAreRefused) {
  for (const Coding coding : {Coding::kGzip, Coding::kDeflate, Coding::kBrotli}) {
    const std::string coded = encode(coding, sample(), 100'000);
    EXPECT_FALSE(decode(coding, coded.substr(0, coded.size() / 2), 500)) << to_string(coding);
    EXPECT_FALSE(decode(coding, "this is no compressed body at all", 500)) << to_string(coding);
    EXPECT_FALSE(decode(coding, coded + "more", 500)) << to_string(coding);
  }
}

TEST(Codings, AreChosenByTheFirstThatIsKnown) {
  EXPECT_EQ(choose_coding("gzip, identity"), Coding::kGzip);
  EXPECT_EQ(choose_coding("snappy, br;q=1.0, gzip"), Coding::kBrotli);
  EXPECT_EQ(choose_coding("gzip;q=0, identity"), Coding::kIdentity);
  EXPECT_EQ(choose_coding("*"), Coding::kIdentity);
  EXPECT_EQ(choose_coding(""), Coding::kIdentity);
  EXPECT_EQ(choose_coding("snappy"), std::nullopt);
  EXPECT_EQ(parse_coding("zstd"), std::nullopt);
}

}  // namespace
}  // namespace moraine::yt
