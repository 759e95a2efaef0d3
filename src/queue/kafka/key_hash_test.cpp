#include "queue/kafka/key_hash.h"

#include <gtest/gtest.h>

#include <utility>

namespace moraine::kafka {
namespace {

// From the tests of Kafka's own hash.
TEST(KeyHash, HashesAsKafkaDoes) {
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

TEST(KeyHash, TheSignIsDropped) {
  EXPECT_EQ(partition_of_key(as_bytes("21"), 7), (-973932308 & 0x7fffffff) % 7);
  EXPECT_EQ(partition_of_key(as_bytes("abc"), 7), 479470107 % 7);
  EXPECT_EQ(partition_of_key(as_bytes("abc"), 1), 0);
}

}  // namespace
}  // namespace moraine::kafka
