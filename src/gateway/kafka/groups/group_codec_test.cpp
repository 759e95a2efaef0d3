#include "gateway/kafka/groups/group_codec.h"

#include <gtest/gtest.h>

#include "base/checksum.h"
#include "base/coding.h"

namespace moraine::kafka {
namespace {

GroupRecord sample() {
  GroupRecord record;
  record.group_id = "g";
  record.generation = 7;
  record.has_offsets = true;
  record.protocol_type = "consumer";
  record.protocol = "range";
  record.leader = "b";
  const std::vector<MemberProtocol> protocols = {{"range", Slice::copy_of("topics")},
                                                 {"sticky", Slice()}};
  record.members.push_back(
      {"a", std::nullopt, "cli", "/::1", 6'000, 7'000, protocols, Slice::copy_of("p0")});
  record.members.push_back({"b", "instance", "cli", "/::1", 6'000, 7'000, protocols, Slice()});
  return record;
}

TEST(GroupCodec, GivesBackWhatWasEncoded) {
  const Slice bytes = encode_group(sample());
  const auto record = decode_group(bytes);
  ASSERT_TRUE(record) << record.error().message();
  EXPECT_EQ(record->generation, 7);
  EXPECT_EQ(record->leader, "b");
  EXPECT_TRUE(record->has_offsets);
  ASSERT_EQ(record->members.size(), 2u);
  EXPECT_EQ(record->members[0].instance_id, std::nullopt);
  EXPECT_EQ(record->members[1].instance_id, "instance");
  EXPECT_EQ(record->members[0].protocols.at(0).metadata.text(), "topics");
  EXPECT_EQ(record->members[0].assignment.text(), "p0");
  EXPECT_EQ(record->members[1].rebalance_timeout_ms, 7'000);
  EXPECT_TRUE(equal(encode_group(*record), bytes));
}

TEST(GroupCodec, BeginsWithItsVersionAndEndsWithItsChecksum) {
  const Slice bytes = encode_group(sample());
  EXPECT_EQ(static_cast<int>(bytes.span()[0]), 1);
  EXPECT_EQ(load<std::uint32_t>(bytes.data() + bytes.size() - 4),
            crc32c(bytes.span().first(bytes.size() - 4)));
}

TEST(GroupCodec, RefusesBytesThatAreCutOrChangedAnywhere) {
  const Slice bytes = encode_group(sample());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    EXPECT_FALSE(decode_group(bytes.sub(0, i))) << i;
    std::vector<std::byte> changed(bytes.span().begin(), bytes.span().end());
    changed[i] ^= std::byte{1};
    const auto decoded = decode_group(Slice::copy_of(changed));
    ASSERT_FALSE(decoded) << i;
    EXPECT_EQ(decoded.error().code, Errc::kCorrupt);
  }
}

TEST(GroupCodec, RefusesRecordsThatContradictThemselves) {
  const auto refused = [](void (*spoil)(GroupRecord&)) {
    GroupRecord record = sample();
    spoil(record);
    return !decode_group(encode_group(record));
  };
  EXPECT_TRUE(refused([](GroupRecord& r) { r.generation = -1; }));
  EXPECT_TRUE(refused([](GroupRecord& r) { r.leader = "c"; }));
  EXPECT_TRUE(refused([](GroupRecord& r) { r.protocol = "other"; }));
  EXPECT_TRUE(refused([](GroupRecord& r) { r.members[1].id = "a"; }));
  EXPECT_TRUE(refused([](GroupRecord& r) { r.members[0].id.clear(); }));
  EXPECT_TRUE(refused([](GroupRecord& r) { r.members[0].instance_id = "instance"; }));
  EXPECT_TRUE(refused([](GroupRecord& r) { r.members[0].session_timeout_ms = 0; }));
  EXPECT_TRUE(refused([](GroupRecord& r) { r.members.clear(); }));
}

}  // namespace
}  // namespace moraine::kafka
