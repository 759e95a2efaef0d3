#include "cluster/local/cluster_file.h"

#include <gtest/gtest.h>

#include "blob/device/format.h"

namespace moraine {
namespace {

TEST(ParseAddress, TakesNamesNumbersAndBrackets) {
  EXPECT_EQ(*parse_address("127.0.0.1:8080"), (TcpAddress{"127.0.0.1", 8080}));
  EXPECT_EQ(*parse_address("localhost:0"), (TcpAddress{"localhost", 0}));
  EXPECT_EQ(*parse_address("[::1]:80"), (TcpAddress{"::1", 80}));
  for (const char* wrong : {"", "8080", ":80", "host:", "host:x", "host:65536", "::1:80", "a:-1"}) {
    EXPECT_FALSE(parse_address(wrong)) << wrong;
  }
}

TEST(ChooseGroup, TakesTheOnlyOneOrAsks) {
  blob::ClusterConfig config = blob::single_node_config("/d", std::uint64_t{1} << 30);
  EXPECT_EQ(choose_group(config, "")->value, 1u);
  EXPECT_EQ(choose_group(config, "0x1")->value, 1u);
  EXPECT_FALSE(choose_group(config, "2"));
  EXPECT_FALSE(choose_group(config, "one"));
  config.groups.push_back(config.groups.front());
  config.groups.back().id = blob::GroupId{0x82000000};
  EXPECT_FALSE(choose_group(config, ""));
  EXPECT_EQ(choose_group(config, "82000000")->value, 0x82000000u);
}

TEST(ChooseSegmentBytes, GivesEveryDeviceThatCanBeEnoughSegments) {
  for (std::uint64_t size = 4u << 20; size < std::uint64_t{1} << 44; size += size / 3) {
    const std::uint64_t whole = size / kSectorSize * kSectorSize;
    const auto planned = blob::plan_superblock(whole, choose_segment_bytes(whole));
    EXPECT_TRUE(planned) << size << ": " << (planned ? "" : planned.error().context);
  }
}

}  // namespace
}  // namespace moraine
