#include "app/partitioner.h"

#include <gtest/gtest.h>

namespace moraine::app {
namespace {

TEST(Partitioner, SameKeysGoToTheSamePartition) {
  Partitioner partitioner(7, std::nullopt, 0);
  const std::int32_t chosen = partitioner.choose(as_bytes("abc"));
  EXPECT_EQ(chosen, 479470107 % 7);
  EXPECT_EQ(partitioner.choose(as_bytes("abc")), chosen);
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
