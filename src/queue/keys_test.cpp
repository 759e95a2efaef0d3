#include "queue/keys.h"

#include <gtest/gtest.h>

#include "io/random.h"

namespace moraine::queue {
namespace {

TEST(QueueKeys, DataKeysComeBackFromTheirNames) {
  SeededRandom random(1);
  for (int i = 0; i < 1'000; ++i) {
    const DataKeyName name{static_cast<PartitionIndex>(random.next()), random.next(),
                           static_cast<std::uint32_t>(random.next() | 1),
                           static_cast<std::int64_t>(random.next() >> 1), random.one_in(2)};
    EXPECT_EQ(parse_data_key(data_key(name)), name);
  }
}

TEST(QueueKeys, TheOrderOfDataKeysIsTheOrderOfOffsets) {
  SeededRandom random(2);
  for (int i = 0; i < 1'000; ++i) {
    DataKeyName a{7, random.next() >> random.below(64), 1, 5, random.one_in(2)};
    DataKeyName b{7, random.next() >> random.below(64), 9, 4, random.one_in(2)};
    if (a.offset == b.offset) continue;
    EXPECT_EQ(data_key(a) < data_key(b), a.offset < b.offset);
  }
}

TEST(QueueKeys, OtherTextIsNoDataKey) {
  const std::string good = data_key({1, 2, 3, 4, true});
  ASSERT_TRUE(parse_data_key(good));
  EXPECT_FALSE(parse_data_key(""));
  EXPECT_FALSE(parse_data_key(good + "|"));
  EXPECT_FALSE(parse_data_key(good.substr(1)));
  EXPECT_FALSE(parse_data_key(data_key({1, 2, 0, 4, false})));
  for (std::size_t i = 0; i < good.size(); ++i) {
    EXPECT_FALSE(parse_data_key(good.substr(0, i) + "x" + good.substr(i + 1))) << i;
    if (i + 1 < good.size()) EXPECT_FALSE(parse_data_key(good.substr(0, i))) << i;
  }
}

TEST(QueueKeys, NegativeTimesAreWrittenAsZero) {
  EXPECT_EQ(parse_data_key(data_key({1, 2, 3, -5, false}))->max_timestamp_ms, 0);
}

TEST(QueueKeys, KindsAndPartitionsDoNotMeet) {
  EXPECT_FALSE(source_key(1, "me").starts_with(key_prefix('s', 10)));
  EXPECT_TRUE(source_key(1, "me").starts_with(key_prefix('s', 1)));
  EXPECT_TRUE(consumer_key(1, "me").starts_with(key_prefix('c', 1)));
  EXPECT_TRUE(part_key(3, 4, 5).starts_with(part_key_prefix(3, 4)));
  EXPECT_TRUE(part_key_prefix(3, 4).starts_with(key_prefix('x', 3)));
  EXPECT_FALSE(meta_key(1).starts_with(key_prefix('i', 1)));
}

}  // namespace
}  // namespace moraine::queue
