#include "blob/blob_id.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <tuple>
#include <unordered_set>
#include <vector>

#include "io/random.h"

namespace moraine::blob {
namespace {

const TabletId kTablet{72075186224037888};

BlobId all_maxima(std::uint32_t part) {
  return BlobId(TabletId{~std::uint64_t{0}}, kGenerationMax, kStepMax, 255, kBlobSizeFieldMax,
                kCookieMax, part);
}

// Few distinct values per field, so that equal prefixes are common.
BlobId random_id(Random& random) {
  const auto pick = [&](std::uint64_t max) -> std::uint64_t {
    switch (random.below(4)) {
      case 0: return random.below(2);
      case 1: return max - random.below(2);
      default: return max == ~std::uint64_t{0} ? random.next() : random.below(max + 1);
    }
  };
  return BlobId(TabletId{random.below(3)}, static_cast<Generation>(pick(kGenerationMax)),
                static_cast<Step>(pick(kStepMax)), static_cast<Channel>(random.below(2)),
                static_cast<std::uint32_t>(pick(kBlobSizeFieldMax)),
                static_cast<std::uint32_t>(pick(kCookieMax)),
                static_cast<std::uint32_t>(pick(kPartFieldMax)));
}

auto fields(const BlobId& id) {
  return std::make_tuple(id.tablet().value, id.channel(), id.generation(), id.step(), id.cookie(),
                         id.size(), id.part());
}

std::string parse_error(std::string_view text) {
  const auto id = BlobId::parse(text);
  if (id) return "parsed";
  EXPECT_EQ(id.error().code, Errc::kInvalidArgument);
  return id.error().context;
}

TEST(BlobId, HasTheDocumentedLayout) {
  const BlobId id(kTablet, 10, 300, 0, 128, 1);
  const std::array<std::uint64_t, 4> expected{0x0100100000010000, 0x000000000a000001,
                                              0x2c00000001000008, 0};
  EXPECT_EQ(id.raw(), expected);
  EXPECT_EQ(id.to_hex(), "0100100000010000000000000a0000012c0000000100000800");
  EXPECT_EQ(id.to_string(), "[72075186224037888:10:300:0:1:128:0]");
  EXPECT_EQ(BlobId::parse(id.to_string()), id);
  EXPECT_EQ(BlobId::parse(id.to_hex()), id);
}

TEST(BlobId, KeepsEveryFieldApart) {
  const BlobId id(TabletId{1}, 2, 0x01020304, 4, 5, 6, 7);
  EXPECT_EQ(id.tablet().value, 1u);
  EXPECT_EQ(id.generation(), 2u);
  EXPECT_EQ(id.step(), 0x01020304u);
  EXPECT_EQ(id.channel(), 4u);
  EXPECT_EQ(id.size(), 5u);
  EXPECT_EQ(id.cookie(), 6u);
  EXPECT_EQ(id.part(), 7u);
  EXPECT_EQ(id.gen_step(), (GenStep{2, 0x01020304}));
  EXPECT_EQ(id.with_part(3).part(), 3u);
  EXPECT_EQ(id.with_part(3).whole(), id.whole());
  EXPECT_EQ(id.to_string(), "[1:2:16909060:4:6:5:7]");

  const BlobId top = all_maxima(15);
  EXPECT_EQ(top.to_string(),
            "[18446744073709551615:4294967295:4294967295:255:4294967295:268435455:15]");
  EXPECT_EQ(BlobId::parse(top.to_string()), top);
}

TEST(BlobId, HashesAsTheVectorsSay) {
  EXPECT_EQ(BlobId::parse("[12345:1:1:0:0:1000:0]")->hash(), 0x87e53ff9u);
  EXPECT_EQ(BlobId::parse("[1:2:3:4:6:5:0]")->hash(), 0x65e9e772u);
  EXPECT_EQ(BlobId::parse("[72075186224037888:10:300:0:1:128:0]")->hash(), 0xd2307a80u);
  EXPECT_EQ(BlobId::parse("[72075186224037888:10:301:0:1:128:0]")->hash(), 0xff7d0fffu);
  const BlobId maxima(TabletId{~std::uint64_t{0}}, kGenerationMax, kStepMax, 255, 1,
                      (1u << 24) - 1);
  EXPECT_EQ(maxima.hash(), 0x2df50b22u);
  EXPECT_EQ(all_maxima(0).hash(), 0x2f5abe33u) << "cookies above 24 bits have a term of their own";
}

TEST(BlobId, HashIgnoresSizeAndPart) {
  const BlobId id(kTablet, 3, 70000, 2, 1000, 99);
  for (std::uint32_t bit = 0; bit < 28; ++bit) {
    EXPECT_EQ(BlobId(kTablet, 3, 70000, 2, 1u << bit, 99, bit % 16).hash(), id.hash());
  }
}

TEST(BlobId, HashDependsOnEveryBitOfTheCookie) {
  std::unordered_set<std::uint32_t> hashes{BlobId(kTablet, 3, 70000, 2, 1000, 0).hash()};
  for (std::uint32_t bit = 0; bit < 32; ++bit) {
    EXPECT_TRUE(hashes.insert(BlobId(kTablet, 3, 70000, 2, 1000, 1u << bit).hash()).second) << bit;
  }
}

TEST(BlobId, PredecessorIsTheNextLowerId) {
  const BlobId id(kTablet, 3, 7, 2, 1000, 9, 0);
  EXPECT_EQ(id.predecessor(), BlobId(kTablet, 3, 7, 2, 999, 9, 15));
  EXPECT_EQ(id.with_part(4).predecessor(), id.with_part(3));
  EXPECT_EQ(BlobId(kTablet, 3, 7, 2, 0, 9).predecessor(),
            BlobId(kTablet, 3, 7, 2, kBlobSizeFieldMax, 8, 15));
  EXPECT_EQ(BlobId(kTablet, 0, 0, 0, 0, 0).predecessor(),
            BlobId(TabletId{kTablet.value - 1}, kGenerationMax, kStepMax, 255, kBlobSizeFieldMax,
                   kCookieMax, 15));
  EXPECT_EQ(BlobId().predecessor(), std::nullopt);
}

TEST(BlobId, DiffersOnlyInSizeComparesAllOtherFieldsButThePart) {
  const BlobId id(kTablet, 3, 7, 2, 1000, 9);
  EXPECT_TRUE(id.differs_only_in_size(BlobId(kTablet, 3, 7, 2, 1001, 9, 2)));
  EXPECT_FALSE(id.differs_only_in_size(id.with_part(2)));
  EXPECT_FALSE(id.differs_only_in_size(BlobId(kTablet, 3, 7, 2, 1001, 10)));
  EXPECT_FALSE(id.differs_only_in_size(BlobId(kTablet, 3, 7, 1, 1001, 9)));
  EXPECT_FALSE(id.differs_only_in_size(BlobId(kTablet, 3, 8, 2, 1001, 9)));
}

TEST(BlobId, OrdersByTabletChannelGenerationStepCookieSizePart) {
  SeededRandom random(1);
  for (int round = 0; round < 20000; ++round) {
    const BlobId a = random_id(random);
    const BlobId b = round % 7 == 0 ? a : random_id(random);
    std::array<std::byte, kBlobIdBytes> bytes_a{};
    std::array<std::byte, kBlobIdBytes> bytes_b{};
    a.encode(bytes_a.data());
    b.encode(bytes_b.data());
    const int by_bytes = std::memcmp(bytes_a.data(), bytes_b.data(), kBlobIdBytes);
    ASSERT_EQ(a <=> b, fields(a) <=> fields(b)) << a.to_hex() << " " << b.to_hex();
    ASSERT_EQ(a <=> b, by_bytes <=> 0) << a.to_hex() << " " << b.to_hex();
    ASSERT_EQ(BlobId::decode(bytes_a.data()), a);
  }
}

TEST(BlobId, RoundTripsThroughBothStrings) {
  SeededRandom random(2);
  for (int round = 0; round < 5000; ++round) {
    const BlobId id = random_id(random);
    ASSERT_EQ(BlobId::parse(id.to_hex()), id);
    ASSERT_EQ(BlobId::parse(id.to_string()), id);
  }
  EXPECT_EQ(BlobId::parse("0100100000010000000000000A0000012C0000000100000800"),
            BlobId(kTablet, 10, 300, 0, 128, 1));
}

TEST(BlobId, ParseErrorsNameTheFieldAndTheReason) {
  EXPECT_EQ(parse_error(""), "blob id \"\": is empty");
  EXPECT_EQ(parse_error("1:2:3:4:5:6:7]"),
            "blob id \"1:2:3:4:5:6:7]\": neither starts with \"[\" nor is 50 hex digits");
  EXPECT_EQ(parse_error(" [1:2:3:4:5:6:7]"),
            "blob id \" [1:2:3:4:5:6:7]\": neither starts with \"[\" nor is 50 hex digits");
  EXPECT_EQ(parse_error("[1:2:3:4:5:6:7"),
            "blob id \"[1:2:3:4:5:6:7\": the closing \"]\" is missing");
  EXPECT_EQ(parse_error("[1:2:3:4:5:6:7] "),
            "blob id \"[1:2:3:4:5:6:7] \": there are characters after the closing \"]\"");
  EXPECT_EQ(parse_error("[1:2:3:4:5:6]"),
            "blob id \"[1:2:3:4:5:6]\": has 6 fields of 7: part is missing");
  EXPECT_EQ(parse_error("[1]"), "blob id \"[1]\": has 1 fields of 7: generation is missing");
  EXPECT_EQ(parse_error("[1:2:3:4:5:6:7:8]"),
            "blob id \"[1:2:3:4:5:6:7:8]\": has more than 7 fields");
  EXPECT_EQ(parse_error("[]"), "blob id \"[]\": tablet is empty");
  EXPECT_EQ(parse_error("[1:2::4:5:6:7]"), "blob id \"[1:2::4:5:6:7]\": step is empty");
  EXPECT_EQ(parse_error("[1:x:3:4:5:6:7]"),
            "blob id \"[1:x:3:4:5:6:7]\": generation \"x\" is not a decimal number");
  EXPECT_EQ(parse_error("[1:2:3:4:-5:6:7]"),
            "blob id \"[1:2:3:4:-5:6:7]\": cookie \"-5\" is not a decimal number");
  EXPECT_EQ(parse_error("[1:2: 3:4:5:6:7]"),
            "blob id \"[1:2: 3:4:5:6:7]\": step \" 3\" is not a decimal number");
  EXPECT_EQ(parse_error("[1:2:3:4:5:6:07]"),
            "blob id \"[1:2:3:4:5:6:07]\": part \"07\" has a leading zero");
  EXPECT_EQ(parse_error("[\n:2:3:4:5:6:7]"),
            "blob id \"[\\n:2:3:4:5:6:7]\": tablet \"\\n\" is not a decimal number");
}

TEST(BlobId, ParseRefusesEachFieldOverItsMaximum) {
  const std::array<std::pair<std::string_view, std::string_view>, 7> cases{{
      {"[18446744073709551616:0:0:0:0:0:0]",
       "tablet \"18446744073709551616\" is over its maximum 18446744073709551615"},
      {"[1:4294967296:0:0:0:0:0]", "generation \"4294967296\" is over its maximum 4294967295"},
      {"[1:0:4294967296:0:0:0:0]", "step \"4294967296\" is over its maximum 4294967295"},
      {"[1:0:0:256:0:0:0]", "channel \"256\" is over its maximum 255"},
      {"[1:0:0:0:4294967296:0:0]", "cookie \"4294967296\" is over its maximum 4294967295"},
      {"[1:0:0:0:0:268435456:0]", "size \"268435456\" is over its maximum 268435455"},
      {"[1:0:0:0:0:0:16]", "part \"16\" is over its maximum 15"},
  }};
  for (const auto& [text, why] : cases) {
    EXPECT_EQ(parse_error(text), fmt::format("blob id \"{}\": {}", text, why));
  }
}

TEST(BlobId, ParseNamesTheCharacterThatIsNoHexDigit) {
  std::string text = BlobId(kTablet, 10, 300, 0, 128, 1).to_hex();
  text[20] = 'g';
  EXPECT_NE(parse_error(text).find("character 21 is not a hex digit"), std::string::npos);
  text[20] = '0';
  EXPECT_NE(parse_error(text.substr(1)).find("nor is 50 hex digits"), std::string::npos);
  EXPECT_NE(parse_error(text + "0").find("nor is 50 hex digits"), std::string::npos);
}

TEST(BlobId, ParseErrorsStayShortForLongInput) {
  EXPECT_LT(parse_error(std::string(1 << 16, '[')).size(), 200u);
  EXPECT_LT(parse_error("[" + std::string(1 << 16, '9') + ":0:0:0:0:0:0]").size(), 400u);
}

TEST(BlobId, LowestAndHighestEncloseExactlyTheirGenerationAndStep) {
  const GenStep at{5, 256};
  const BlobId low = BlobId::lowest(kTablet, 3, at);
  const BlobId high = BlobId::highest(kTablet, 3, at);
  EXPECT_EQ(low, BlobId(kTablet, 5, 256, 3, 0, 0));
  EXPECT_EQ(low.gen_step(), at);
  EXPECT_EQ(high.gen_step(), at);
  EXPECT_LT(low, high);
  EXPECT_LT(BlobId::highest(kTablet, 3, {5, 255}), low);
  EXPECT_LT(high, BlobId::lowest(kTablet, 3, {5, 257}));
  EXPECT_LT(BlobId::highest(kTablet, 3), BlobId::lowest(kTablet, 4));
  EXPECT_LT(BlobId::highest(kTablet, 255), BlobId::lowest(TabletId{kTablet.value + 1}, 0));
  EXPECT_EQ(BlobId::highest(TabletId{~std::uint64_t{0}}, 255).to_hex(), std::string(50, 'f'));
}

// What abseil's hash framework asks of its state, so that the test needs no abseil library.
struct CollectingState {
  std::vector<std::uint64_t> words;

  template <typename... Words>
  static CollectingState combine(CollectingState state, Words... words) {
    (state.words.push_back(words), ...);
    return state;
  }
};

TEST(BlobId, WorksAsAKeyOfHashMaps) {
  std::unordered_set<BlobId> ids;
  for (Step step = 0; step < 1000; ++step) {
    for (const std::uint32_t part : {0u, 1u}) {
      const BlobId id(kTablet, 1, step, 0, 10, 0, part);
      EXPECT_TRUE(ids.insert(id).second);
    }
  }
  EXPECT_EQ(ids.size(), 2000u);
  const BlobId id(kTablet, 1, 2, 0, 10, 0);
  const auto raw = id.raw();
  EXPECT_EQ(AbslHashValue(CollectingState{}, id).words, std::vector(raw.begin(), raw.end()));
}

TEST(CheckPuttable, AcceptsTheLeastAndTheGreatestBlob) {
  EXPECT_TRUE(check_puttable(BlobId(kTablet, 1, 1, 0, 1, 0), 1));
  EXPECT_TRUE(check_puttable(BlobId(kTablet, 1, 1, 0, kBlobSizeMax, 0), kBlobSizeMax));
}

TEST(CheckPuttable, SaysWhyItRefuses) {
  const auto why = [](const BlobId& id, std::size_t bytes) {
    const auto verdict = check_puttable(id, bytes);
    return verdict ? std::string("accepted") : verdict.error().message();
  };
  EXPECT_EQ(why(BlobId(TabletId{}, 1, 1, 0, 5, 0), 5),
            "invalid argument: put of [0:1:1:0:0:5:0]: the tablet is not set");
  EXPECT_NE(why(BlobId(kTablet, 1, 1, 0, 5, 0, 2), 5).find("part must be 0"), std::string::npos);
  EXPECT_NE(why(BlobId(kTablet, 1, 1, 0, 0, 0), 0).find("the blob is empty"), std::string::npos);
  EXPECT_NE(why(BlobId(kTablet, 1, 1, 0, kBlobSizeMax + 1, 0), kBlobSizeMax + 1)
                .find("size is over its maximum 10485760"),
            std::string::npos);
  EXPECT_NE(why(BlobId(kTablet, 1, 1, 0, 5, 0), 6).find("the id says 5 bytes, the data has 6"),
            std::string::npos);
}

}  // namespace
}  // namespace moraine::blob
