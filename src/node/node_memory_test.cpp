#include "node/node_memory.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace moraine {
namespace {

constexpr std::size_t kGiB = std::size_t{1} << 30;

TEST(NodeMemory, PartsDoNotExceedTheWhole) {
  for (const std::size_t bytes : {kNodeMemoryBytesMin, kGiB, 3 * kGiB + 77, 500 * kGiB}) {
    const NodeMemory memory = share_memory(bytes);
    EXPECT_LE(memory.total(), bytes / kMemoryParts * kSharedParts);
    EXPECT_GT(memory.total(), bytes / 2);
    std::set<std::string_view> names;
    for (const NodeMemory::Part& part : memory.parts()) {
      EXPECT_GT(part.bytes, 0u) << part.name;
      names.insert(part.name);
    }
    EXPECT_EQ(names.size(), memory.parts().size());
  }
}

TEST(NodeMemory, WithoutASizeItDependsOnTheMachineWithinBounds) {
  std::size_t before = 0;
  for (std::size_t machine = kGiB / 2; machine < 1'000 * kGiB; machine *= 2) {
    const NodeMemory memory = default_memory(machine);
    EXPECT_GE(memory.total(), before);
    EXPECT_LE(memory.total(), std::max(machine * 3 / 4, kNodeMemoryBytesMin));
    before = memory.total();
  }
  EXPECT_LT(before, 10 * kGiB) << "however large the machine";
  EXPECT_GT(default_memory(0).total(), 0u) << "a machine whose memory is not known";
}

TEST(NodeMemory, TheLimitsOfANodeAreItsParts) {
  const NodeMemory memory = share_memory(2 * kGiB);
  NodeOptions options;
  memory.apply_to(options);
  EXPECT_EQ(options.tables.memory_store_bytes, kGiB / 2);
  EXPECT_EQ(memory.lock_history, kGiB / 4);
  EXPECT_EQ(options.topic_cache_bytes, kGiB / 4);
  EXPECT_EQ(options.tables.block_cache_bytes, kGiB / 4);
  EXPECT_EQ(options.tables.in_memory_bytes, kGiB / 4);
  EXPECT_EQ(options.tables.row_cache_bytes, kGiB / 8);
  EXPECT_EQ(memory.requests, kGiB / 8);
  EXPECT_EQ(memory.answers, kGiB / 8);
}

TEST(NodeMemory, MetricsNameEveryPart) {
  const NodeMemory memory = share_memory(2 * kGiB);
  const std::string text = to_prometheus(memory);
  for (const NodeMemory::Part& part : memory.parts()) {
    const std::string line =
        fmt::format("\nmoraine_memory_limit_bytes{{part=\"{}\"}} {}\n", part.name, part.bytes);
    EXPECT_NE(text.find(line), std::string::npos) << line;
  }
}

}  // namespace
}  // namespace moraine
