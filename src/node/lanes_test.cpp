// A node on several lanes: every lane finds the same topics, and uses partitions of the others.

#include "node/test_node.h"

namespace moraine {
namespace {

constexpr std::size_t kLanes = 3;

class Lanes : public testing::Test {
 protected:
  TopicPtr create(std::size_t lane, const std::string& name, std::uint32_t partitions) {
    auto made = node_.on_lane<Result<TopicPtr>>(lane, [&] {
      TopicSpec spec;
      spec.partitions = partitions;
      spec.config["moraine.partitions.per.tablet"] = "1";
      return node_.node().topics(lane).create(name, spec);
    });
    EXPECT_TRUE(made) << made.error().message();
    return made ? *made : nullptr;
  }
  TopicPtr find(std::size_t lane, const std::string& name) {
    return node_.on_lane<TopicPtr>(
        lane, [&]() -> Task<TopicPtr> { co_return node_.node().topics(lane).find(name); });
  }
  std::shared_ptr<queue::Partition> partition(std::size_t lane, const TopicPtr& topic,
                                              std::uint32_t index) {
    return node_.node().topics(lane).partition(topic->id, index);
  }
  queue::WriteAnswer write(std::size_t lane, const TopicPtr& topic, std::uint32_t index,
                           std::string text) {
    return node_.on_lane<queue::WriteAnswer>(lane, [&]() -> Task<queue::WriteAnswer> {
      queue::WriteRequest request;
      request.payload = Slice::copy_of(text);
      const auto answer = partition(lane, topic, index)->write(std::move(request));
      co_return co_await *answer;
    });
  }
  std::vector<std::string> read(std::size_t lane, const TopicPtr& topic, std::uint32_t index) {
    return node_.on_lane<std::vector<std::string>>(lane, [&]() -> Task<std::vector<std::string>> {
      std::vector<std::string> texts;
      queue::ReadRequest request;
      request.bytes_max = 1u << 20;
      const auto answer = co_await partition(lane, topic, index)->read(request);
      EXPECT_TRUE(answer) << answer.error().message();
      if (!answer) co_return texts;
      for (const queue::StoredEntry& entry : answer->entries) {
        texts.push_back(std::string(entry.payload.text()));
      }
      co_return texts;
    });
  }

  TestNode node_{kLanes};
};

TEST_F(Lanes, ATopicMadeOnOneLaneIsThereAtOnceAndSoonOnTheOthers) {
  for (std::size_t maker = 0; maker < kLanes; ++maker) {
    const std::string name = fmt::format("t{}", maker);
    const TopicPtr made = create(maker, name, 6);
    ASSERT_TRUE(made);
    EXPECT_EQ(find(maker, name), made);
    node_.world().run_for(1s);
    for (std::size_t lane = 0; lane < kLanes; ++lane) EXPECT_EQ(find(lane, name), made) << lane;
  }
}

TEST_F(Lanes, EveryLaneWritesToAndReadsFromEveryPartition) {
  const TopicPtr topic = create(0, "t", 6);
  ASSERT_TRUE(topic);
  node_.world().run_for(1s);
  std::set<std::size_t> homes;
  for (std::uint32_t index = 0; index < 6; ++index) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const queue::WriteAnswer answer = write(lane, topic, index, fmt::format("{}", lane));
      ASSERT_EQ(answer.status, queue::WriteStatus::kOk) << answer.detail;
      EXPECT_EQ(answer.offset, lane);
    }
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      EXPECT_EQ(read(lane, topic, index), (std::vector<std::string>{"0", "1", "2"}));
      EXPECT_EQ(partition(lane, topic, index)->info().end, 3u);
    }
    const auto tablets = node_.node().topics_report().topics.at(0).partitions;
    homes.insert(node_.node().placement().place_of(tablets.at(index).tablet).lane().value());
  }
  EXPECT_EQ(homes.size(), kLanes);
}

TEST_F(Lanes, WhatIsInMemoryIsReadOnAnyLaneWithoutAHop) {
  const TopicPtr topic = create(0, "t", 6);
  ASSERT_TRUE(topic);
  node_.world().run_for(1s);
  for (std::uint32_t index = 0; index < 6; ++index) {
    ASSERT_EQ(write(index % kLanes, topic, index, "x").status, queue::WriteStatus::kOk);
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const auto texts =
          node_.on_lane<std::vector<std::string>>(lane, [&]() -> Task<std::vector<std::string>> {
            std::vector<std::string> found;
            const auto answer = partition(lane, topic, index)->read_cached({0, 1u << 20});
            if (!answer) co_return found;
            for (const auto& entry : answer->entries) found.emplace_back(entry.payload.text());
            co_return found;
          });
      EXPECT_EQ(texts, std::vector<std::string>{"x"}) << index << " on " << lane;
    }
  }
}

TEST_F(Lanes, WritesOfOneCallerKeepTheirOrder) {
  const TopicPtr topic = create(0, "t", 3);
  ASSERT_TRUE(topic);
  node_.world().run_for(1s);
  for (std::uint32_t index = 0; index < 3; ++index) {
    node_.on_lane<bool>(1, [&]() -> Task<bool> {
      std::vector<std::shared_ptr<OneShot<queue::WriteAnswer>>> answers;
      for (int i = 0; i < 100; ++i) {
        queue::WriteRequest request;
        request.payload = Slice::copy_of(fmt::format("{}", i));
        answers.push_back(partition(1, topic, index)->write(std::move(request)));
      }
      for (std::size_t i = 0; i < answers.size(); ++i) {
        const queue::WriteAnswer answer = co_await *answers[i];
        EXPECT_EQ(answer.offset, i) << answer.detail;
      }
      co_return true;
    });
  }
}

TEST_F(Lanes, AWatchOnAnotherLaneIsCalledOnItsOwn) {
  const TopicPtr topic = create(0, "t", 3);
  ASSERT_TRUE(topic);
  node_.world().run_for(1s);
  for (std::uint32_t index = 0; index < 3; ++index) {
    int calls = 0;
    bool on_lane = true;
    const std::uint64_t watch = node_.on_lane<std::uint64_t>(1, [&]() -> Task<std::uint64_t> {
      co_return partition(1, topic, index)->watch([&] {
        ++calls;
        on_lane = on_lane && node_.lane(1).on_this_thread() && !node_.lane(0).on_this_thread();
      });
    });
    node_.world().run_for(1s);
    calls = 0;
    ASSERT_EQ(write(2, topic, index, "x").status, queue::WriteStatus::kOk);
    node_.world().run_for(1s);
    EXPECT_GE(calls, 1);
    EXPECT_TRUE(on_lane);
    node_.on_lane<bool>(1, [&]() -> Task<bool> {
      partition(1, topic, index)->unwatch(watch);
      co_return true;
    });
    calls = 0;
    ASSERT_EQ(write(2, topic, index, "y").status, queue::WriteStatus::kOk);
    node_.world().run_for(1s);
    EXPECT_EQ(calls, 0);
    // A later one is called again.
    const std::uint64_t later = node_.on_lane<std::uint64_t>(1, [&]() -> Task<std::uint64_t> {
      co_return partition(1, topic, index)->watch([&] { ++calls; });
    });
    ASSERT_EQ(write(2, topic, index, "z").status, queue::WriteStatus::kOk);
    node_.world().run_for(1s);
    EXPECT_GE(calls, 1);
    node_.on_lane<bool>(1, [&]() -> Task<bool> {
      partition(1, topic, index)->unwatch(later);
      co_return true;
    });
  }
}

TEST_F(Lanes, MessagesAndOffsetsSurviveAPowerCut) {
  const TopicPtr topic = create(1, "t", 4);
  ASSERT_TRUE(topic);
  node_.world().run_for(1s);
  for (std::uint32_t index = 0; index < 4; ++index) {
    ASSERT_EQ(write(2, topic, index, "kept").status, queue::WriteStatus::kOk);
    const auto committed = node_.on_lane<Result<void>>(1, [&] {
      queue::ConsumerOffset offset;
      offset.consumer = "c";
      offset.offset = 1;
      return partition(1, topic, index)->commit(offset);
    });
    ASSERT_TRUE(committed);
  }
  node_.cut_power();
  node_.world().run_for(5s);
  for (std::uint32_t index = 0; index < 4; ++index) {
    EXPECT_EQ(read(2, topic, index), std::vector<std::string>{"kept"});
    const auto committed = partition(2, topic, index)->committed("c");
    ASSERT_TRUE(committed);
    EXPECT_EQ(committed->offset, 1u);
  }
}

TEST_F(Lanes, ARemovedTopicIsGoneEverywhere) {
  const TopicPtr topic = create(0, "t", 3);
  ASSERT_TRUE(topic);
  node_.world().run_for(1s);
  const auto held = partition(1, topic, 0);
  const auto removed =
      node_.on_lane<Result<void>>(2, [&] { return node_.node().topics(2).remove("t"); });
  ASSERT_TRUE(removed) << removed.error().message();
  EXPECT_FALSE(find(2, "t"));
  node_.world().run_for(5s);
  for (std::size_t lane = 0; lane < kLanes; ++lane) EXPECT_FALSE(find(lane, "t")) << lane;
  EXPECT_TRUE(held->stopped());
}

TEST_F(Lanes, AStoppedNodeStartsAgain) {
  const TopicPtr topic = create(2, "t", 5);
  ASSERT_TRUE(topic);
  for (int round = 0; round < 3; ++round) {
    node_.restart();
    node_.world().run_for(1s);
    for (std::uint32_t index = 0; index < 5; ++index) {
      ASSERT_EQ(write(1, topic, index, "x").status, queue::WriteStatus::kOk);
    }
    EXPECT_TRUE(node_.node().not_ready().empty());
  }
  EXPECT_EQ(read(0, topic, 4).size(), 3u);
}

}  // namespace
}  // namespace moraine
