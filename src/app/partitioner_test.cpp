#include "app/partitioner.h"

#include <gtest/gtest.h>

namespace moraine::app {
namespace {

// From the tests of Kafka's own hash.
TEST(Partitioner, HashesAsKafkaDoes) {
  const std::pair<const char*, std::int32_t> known[] = {
      {"21", -973932308},
      {"foobar", -790332482},
      {"a-little-bit-long-string", -985981536},
      {"a-little-bit-longer-string", -1486304829},
      {"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971},
      {"abc", 479470107}};
  for (const auto& [text, hash] : known) {
    EXPECT_EQ(static_cast<std::int32_t>(murmur2(as_bytes(text))), hash) << text;
  }
}

TEST(Partitioner, SameKeysGoToTheSamePartition) {
  Partitioner partitioner(7, std::nullopt, 0);
  const std::int32_t chosen = partitioner.choose(as_bytes("abc"));
  EXPECT_EQ(chosen, 479470107 % 7);
  EXPECT_EQ(partitioner.choose(as_bytes("abc")), chosen);
  EXPECT_EQ(partition_of_key(as_bytes("21"), 7), (-973932308 & 0x7fffffff) % 7);
}

TEST(Partitioner, MessagesWithoutAKeyAreDistributedInTurn) {
  Partitioner partitioner(3, std::nullopt, 2);
  for (const std::int32_t expected : {2, 0, 1, 2}) {
    EXPECT_EQ(partitioner.choose(std::nullopt), expected);
  }
}

TEST(Partitioner, AnEmptyKeyIsAKey) {
  Partitioner partitioner(1000, std::nullopt, 0);
  const std::int32_t chosen = partitioner.choose(ByteSpan());
  EXPECT_EQ(partitioner.choose(ByteSpan()), chosen);
}

TEST(Partitioner, AFixedPartitionTakesEverything) {
  Partitioner partitioner(7, 5, 0);
  EXPECT_EQ(partitioner.choose(std::nullopt), 5);
  EXPECT_EQ(partitioner.choose(as_bytes("abc")), 5);
}

}  // namespace
}  // namespace moraine::app
