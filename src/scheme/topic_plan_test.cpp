#include "scheme/topic_plan.h"

#include <gtest/gtest.h>

namespace moraine {
namespace {

constexpr GroupId kGroups[] = {{10}, {20}, {30}};
constexpr std::uint32_t kPerTablet = 16;

std::vector<std::uint32_t> sizes(const std::vector<TopicTablet>& tablets) {
  std::vector<std::uint32_t> found;
  for (const TopicTablet& tablet : tablets) found.push_back(tablet.partitions);
  return found;
}

using Sizes = std::vector<std::uint32_t>;

TEST(TopicPlan, GrowthFillsTheLastTabletAndThenMakesNewOnes) {
  EXPECT_EQ(tablets_to_add({}, 1, kPerTablet), 1u);
  std::vector<TopicTablet> tablets = spread({}, 3, kPerTablet, TabletId{100}, kGroups);
  EXPECT_EQ(sizes(tablets), Sizes{3});
  EXPECT_EQ(tablets_to_add(tablets, kPerTablet, kPerTablet), 0u);
  tablets = spread(tablets, kPerTablet - 1, kPerTablet, TabletId{101}, kGroups);
  EXPECT_EQ(sizes(tablets), Sizes{kPerTablet - 1});
  EXPECT_EQ(tablets_to_add(tablets, 3 * kPerTablet + 1, kPerTablet), 3u);
  tablets = spread(tablets, 3 * kPerTablet + 1, kPerTablet, TabletId{101}, kGroups);
  EXPECT_EQ(sizes(tablets), (Sizes{kPerTablet, kPerTablet, kPerTablet, 1}));
  EXPECT_EQ(tablets[3].info.id, TabletId{103});
}

TEST(TopicPlan, PartitionsPerTabletMayChangeBetweenGrowths) {
  std::vector<TopicTablet> tablets = spread({}, 3, 1, TabletId{100}, kGroups);
  EXPECT_EQ(sizes(tablets), (Sizes{1, 1, 1}));
  EXPECT_EQ(tablets_to_add(tablets, 9, 4), 1u);
  tablets = spread(tablets, 9, 4, TabletId{103}, kGroups);
  EXPECT_EQ(sizes(tablets), (Sizes{1, 1, 4, 3}));
  EXPECT_EQ(tablets_to_add(tablets, 10, 2), 1u) << "the last one is full by the lower bound";
  tablets = spread(tablets, 10, 2, TabletId{104}, kGroups);
  EXPECT_EQ(sizes(tablets), (Sizes{1, 1, 4, 3, 1}));
}

TEST(TopicPlan, TabletsTakeTheGroupsByTurns) {
  const auto tablets = spread({}, 6 * kPerTablet, kPerTablet, TabletId{1'000}, kGroups);
  std::map<GroupId, int> used;
  for (const TopicTablet& tablet : tablets) ++used[tablet.info.latest_group(0)];
  EXPECT_EQ(used, (std::map<GroupId, int>{{{10}, 2}, {{20}, 2}, {{30}, 2}}));
}

TEST(TopicPlan, AChangeSetsReplacesAndTakesBack) {
  TopicInfo topic;
  topic.config = {{"retention.ms", "1"}, {"retention.bytes", "2"}};
  topic.consumers = {{"a", {}}};
  TopicChange change;
  change.partitions = 5;
  change.config = {{"retention.ms", std::nullopt}, {"moraine.write.quota", "9"}};
  change.consumers = {{"a", std::nullopt}, {"b", TopicConsumer{true}}};
  const auto once = changed(topic, change);
  ASSERT_TRUE(once) << once.error().message();
  EXPECT_EQ(once->partitions, 5u);
  EXPECT_EQ(once->config, (std::map<std::string, std::string>{{"moraine.write.quota", "9"},
                                                              {"retention.bytes", "2"}}));
  EXPECT_EQ(once->consumers, (std::map<std::string, TopicConsumer>{{"b", {true}}}));

  TopicChange replace;
  replace.replace_config = true;
  replace.config = {{"retention.ms", "3"}};
  EXPECT_EQ(changed(*once, replace)->config,
            (std::map<std::string, std::string>{{"retention.ms", "3"}}));
}

TEST(TopicPlan, WrongChangesAreRefused) {
  TopicInfo topic;
  topic.partitions = 3;
  const auto code = [&](const TopicChange& change) { return changed(topic, change).error().code; };
  for (const std::uint32_t partitions : {0u, 2u, 3u, kPartitionsPerTopicMax + 1}) {
    TopicChange change;
    change.partitions = partitions;
    EXPECT_EQ(code(change), Errc::kInvalidArgument) << partitions;
  }
  TopicChange unknown;
  unknown.config = {{"no.such", std::nullopt}};
  EXPECT_EQ(code(unknown), Errc::kInvalidArgument);
  TopicChange absent;
  absent.consumers = {{"nobody", std::nullopt}};
  EXPECT_EQ(code(absent), Errc::kNotFound);
  TopicChange nameless;
  nameless.consumers = {{"", TopicConsumer{}}};
  EXPECT_EQ(code(nameless), Errc::kInvalidArgument);
}

TEST(TopicPlan, WrongSpecsAreRefused) {
  TopicSpec spec;
  EXPECT_TRUE(check_spec(spec));
  spec.partitions = 0;
  EXPECT_FALSE(check_spec(spec));
  spec.partitions = kPartitionsPerTopicMax;
  EXPECT_TRUE(check_spec(spec));
  spec.config = {{"cleanup.policy", "compact"}};
  EXPECT_FALSE(check_spec(spec));
  spec.config.clear();
  for (std::size_t i = 0; i <= kTopicConsumersMax; ++i) spec.consumers[std::to_string(i)] = {};
  EXPECT_FALSE(check_spec(spec));
}

}  // namespace
}  // namespace moraine
