#include <gtest/gtest.h>

#include <limits>

#include "gateway/kafka/protocol/api.h"
#include "gateway/kafka/protocol/types.h"
#include "queue/kafka/error_code.h"
#include "queue/kafka/reader.h"
#include "queue/kafka/test_bytes.h"
#include "queue/kafka/writer.h"

namespace moraine::kafka {
namespace {

TEST(Writer, SpellsIntegersBigEndian) {
  Writer writer;
  writer.fixed(std::int8_t{-2});
  writer.fixed(std::int16_t{0x0102});
  writer.fixed(std::int32_t{0x03040506});
  writer.fixed(std::int64_t{-1});
  EXPECT_EQ(hex(std::move(writer)), "fe010203040506ffffffffffffffff");
}

TEST(Writer, SpellsUnsignedVarintsLowGroupFirst) {
  const std::pair<std::uint32_t, std::string_view> cases[] = {
      {0, "00"}, {127, "7f"}, {128, "8001"}, {300, "ac02"}, {0xffffffff, "ffffffff0f"}};
  for (const auto& [value, spelling] : cases) {
    Writer writer;
    writer.uvarint(value);
    EXPECT_EQ(hex(std::move(writer)), spelling);
    EXPECT_EQ(Reader(unhex(spelling)).uvarint(), value);
  }
}

TEST(Writer, SpellsSignedVarintsZigZag) {
  const std::pair<std::int32_t, std::string_view> cases[] = {
      {0, "00"},
      {-1, "01"},
      {1, "02"},
      {-2, "03"},
      {63, "7e"},
      {64, "8001"},
      {300, "d804"},
      {-300, "d704"},
      {2147483647, "feffffff0f"},
      {std::numeric_limits<std::int32_t>::min(), "ffffffff0f"}};
  for (const auto& [value, spelling] : cases) {
    Writer narrow;
    narrow.varint(value);
    EXPECT_EQ(hex(std::move(narrow)), spelling);
    Writer wide;
    wide.varlong(value);
    EXPECT_EQ(hex(std::move(wide)), spelling);
    EXPECT_EQ(Reader(unhex(spelling)).varint(), value);
    EXPECT_EQ(Reader(unhex(spelling)).varlong(), value);
    EXPECT_EQ(varlong_bytes(value), spelling.size() / 2);
  }
}

TEST(Writer, RoundTripsTheExtremesOfLongVarints) {
  for (const std::int64_t value :
       {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()}) {
    Writer writer;
    writer.varlong(value);
    EXPECT_EQ(writer.size(), 10u);
    EXPECT_EQ(varlong_bytes(value), 10u);
    const Slice bytes = joined(std::move(writer));
    EXPECT_EQ(Reader(bytes).varlong(), value);
  }
}

TEST(Writer, SharesLargeBytesAndCopiesSmallOnes) {
  const Slice large = Slice::copy_of(std::string(kCopiedBytesMax + 1, 'x'));
  const Slice small = Slice::copy_of(std::string(kCopiedBytesMax, 'y'));
  Writer writer;
  writer.fixed(std::int32_t{0});
  writer.shared(large);
  writer.shared(small);
  writer.shared(large);
  EXPECT_EQ(writer.size(), 4 + 2 * large.size() + small.size());
  writer.patch(0, 7);
  const std::vector<Slice> slices = std::move(writer).finish();
  ASSERT_EQ(slices.size(), 4u);
  EXPECT_EQ(hex(slices[0]), "00000007");
  EXPECT_EQ(slices[1].data(), large.data());
  EXPECT_TRUE(equal(slices[2], small));
  EXPECT_EQ(slices[3].data(), large.data());
}

TEST(Reader, GivesZerosAfterTheFirstProblemAndKeepsIt) {
  const Slice bytes = unhex("0001");
  Reader reader(bytes);
  EXPECT_EQ(reader.fixed<std::int32_t>(), 0);
  EXPECT_TRUE(reader.failed());
  EXPECT_EQ(reader.fixed<std::int8_t>(), 0);
  EXPECT_TRUE(reader.raw(1).empty());
  reader.wrong("another problem");
  EXPECT_EQ(reader.problem(), "the input is short");
}

TEST(Reader, RefusesVarintsThatAreTooLong) {
  for (const std::string_view spelling : {"ffffffffff01", "8080808080", "ffffffff1f", "80"}) {
    const Slice bytes = unhex(spelling);
    Reader reader(bytes);
    reader.uvarint();
    EXPECT_TRUE(reader.failed()) << spelling;
  }
  const Slice bytes = unhex("ffffffffffffffffff02");
  Reader reader(bytes);
  reader.varlong();
  EXPECT_TRUE(reader.failed());
}

TEST(Reader, EndsWhereItIsNarrowed) {
  const Slice bytes = unhex("010203");
  Reader reader(bytes);
  const std::size_t end = reader.narrow(1);
  EXPECT_EQ(reader.fixed<std::int8_t>(), 1);
  EXPECT_EQ(reader.remaining(), 0u);
  reader.widen(end);
  EXPECT_EQ(reader.fixed<std::int16_t>(), 0x0203);
  reader.narrow(1);
  EXPECT_TRUE(reader.failed());
}

TEST(ErrorCode, HasTheNamesOfTheProtocol) {
  EXPECT_EQ(to_string(ErrorCode::kNone), "NONE");
  EXPECT_EQ(to_string(ErrorCode::kUnknownServerError), "UNKNOWN_SERVER_ERROR");
  EXPECT_EQ(to_string(ErrorCode::kInvalidTopic), "INVALID_TOPIC_EXCEPTION");
  EXPECT_EQ(to_string(ErrorCode::kTransactionalIdNotFound), "TRANSACTIONAL_ID_NOT_FOUND");
  EXPECT_EQ(to_string(static_cast<ErrorCode>(4)), "UNKNOWN");
  EXPECT_EQ(to_string(static_cast<ErrorCode>(9999)), "UNKNOWN");
}

TEST(Uuid, ReadsAsHexadecimalGroups) {
  Uuid id;
  EXPECT_TRUE(id.is_zero());
  for (std::size_t i = 0; i < id.bytes.size(); ++i)
    id.bytes[i] = static_cast<std::byte>(i * 16 + i);
  EXPECT_FALSE(id.is_zero());
  EXPECT_EQ(id.to_string(), "00112233-4455-6677-8899-aabbccddeeff");
}

TEST(Api, OffersVersionZeroOfWhatLibrdkafkaLooksFor) {
  for (const ApiKey key : {ApiKey::kProduce, ApiKey::kFindCoordinator, ApiKey::kInitProducerId}) {
    EXPECT_EQ(api_info(key).version_min, 0);
  }
  EXPECT_EQ(find_api(static_cast<ApiKey>(500)), nullptr);
  EXPECT_EQ(find_api(static_cast<ApiKey>(-1)), nullptr);
  EXPECT_EQ(find_api(static_cast<ApiKey>(4)), nullptr);
}

}  // namespace
}  // namespace moraine::kafka
