#include "node/stored_topics.h"

#include "node/fake_queue_tablets.h"
#include "scheme/topic_record.h"
#include "tablet/test_tablet.h"

namespace moraine {
namespace {

TopicSpec spec(std::uint32_t partitions) {
  TopicSpec made;
  made.partitions = partitions;
  return made;
}

TabletId topic_tablet(std::uint64_t number) {
  return TabletId{kFirstTopicTabletId.value + number};
}

class StoredTopicsTest : public testing::Test {
 protected:
  StoredTopicsTest() : world_(6), storage_(world_), fake_(storage_.world().executor) { start(); }
  ~StoredTopicsTest() override {
    stop();
    world_.shutdown();
  }

  Instant soon() { return storage_.world().executor.now() + 60s; }
  void start() {
    fake_.use(storage_.world().executor);
    SchemeHostOptions scheme_options;
    scheme_options.group = kTestGroup;
    scheme_options.remove = [this](TabletInfo info) { return fake_.remove(std::move(info)); };
    scheme_ = std::make_unique<SchemeHost>(storage_.world(), storage_, scheme_options);
    StoredTopicsOptions options;
    options.groups = {kTestGroup};
    options.partitions_max = partitions_max_;
    topics_ = std::make_unique<StoredTopics>(storage_.world(), *scheme_, fake_, options);
    scheme_->start();
    const auto started = world_.run(scheme_->wait_known(soon()));
    INVARIANT(started, "{}", started.error().message());
  }
  void stop() {
    if (scheme_) world_.run(scheme_->stop());
    topics_.reset();
    scheme_.reset();
  }
  void restart() {
    stop();
    start();
  }
  void cut_power() {
    storage_.node().on_stop([&] { scheme_->abandon(); });
    storage_.node().on_crash([&] {
      topics_.reset();
      scheme_.reset();
    });
    storage_.crash();
    start();
  }
  Result<TopicPtr> create(const std::string& name, TopicSpec with) {
    return world_.run(topics_->create(name, std::move(with)));
  }
  Result<TopicPtr> alter(const std::string& name, TopicChange change) {
    return world_.run(topics_->alter(name, std::move(change)));
  }
  Result<void> remove(const std::string& name) { return world_.run(topics_->remove(name)); }
  FakePartition* partition(const std::string& topic, queue::PartitionIndex index) {
    const TopicPtr info = topics_->find(topic);
    if (!info) return nullptr;
    return static_cast<FakePartition*>(topics_->partition(info->id, index).get());
  }
  std::size_t running(const std::string& topic) {
    const TopicPtr info = topics_->find(topic);
    std::size_t count = 0;
    for (std::uint32_t i = 0; i < info->partitions; ++i) count += partition(topic, i) ? 1 : 0;
    return count;
  }

  std::uint64_t partitions_max_ = kPartitionsPerNodeMax;  // From the next start on.
  SimWorld world_;
  TestStorage storage_;
  FakeQueueTablets fake_;
  std::unique_ptr<SchemeHost> scheme_;
  std::unique_ptr<StoredTopics> topics_;
};

TEST_F(StoredTopicsTest, ATopicThatIsMadeRunsAndStaysOverRestartsAndPowerCuts) {
  TopicSpec made = spec(20);
  made.config = {{"retention.ms", "1000"}};
  made.consumers = {{"billing", {true}}};
  const auto created = create("team/orders", made);
  ASSERT_TRUE(created) << created.error().message();
  EXPECT_EQ(running("team/orders"), 20u) << "all partitions run when create returns";
  for (int i = 0; i < 3; ++i) {
    const TopicPtr topic = topics_->find("team/orders");
    ASSERT_TRUE(topic);
    EXPECT_EQ(topic->id, (*created)->id);
    EXPECT_EQ(topic->created_ms, (*created)->created_ms);
    EXPECT_EQ(topic->partitions, 20u);
    EXPECT_EQ(topic->config, made.config);
    EXPECT_EQ(topic->consumers, made.consumers);
    EXPECT_EQ(topics_->find(topic->id), topic);
    EXPECT_TRUE(world_.run(topics_->wait_running(soon())));
    EXPECT_EQ(partition("team/orders", 19)->config.retention_ms, 1'000u);
    EXPECT_EQ(partition("team/orders", 0)->config.important_consumers,
              std::vector<std::string>{"billing"});
    EXPECT_FALSE(partition("team/orders", 20));
    i == 0 ? restart() : cut_power();
  }
}

TEST_F(StoredTopicsTest, ListsByName) {
  for (const char* name : {"b", "a/x", "a"}) {
    const auto created = create(name, spec(1));
    EXPECT_EQ(created.has_value(), std::string(name) != "a") << "a is a directory by then";
  }
  ASSERT_EQ(topics_->list().size(), 2u);
  EXPECT_EQ(topics_->list()[0]->name, "a/x");
  EXPECT_EQ(topics_->list()[1]->name, "b");
  EXPECT_FALSE(topics_->find("c"));
  EXPECT_FALSE(topics_->find(TopicId{}));
  EXPECT_FALSE(topics_->partition(TopicId{}, 0));
}

TEST_F(StoredTopicsTest, WrongNamesSpecsAndChangesAreRefused) {
  for (const char* name : {"", "a b", "/a", "a//b", "..", "a/."}) {
    EXPECT_EQ(create(name, spec(1)).error().code, Errc::kInvalidArgument) << name;
  }
  EXPECT_EQ(create(std::string(kTopicNameBytesMax + 1, 'a'), spec(1)).error().code,
            Errc::kInvalidArgument);
  EXPECT_EQ(create("a", spec(0)).error().code, Errc::kInvalidArgument);
  TopicSpec compacted = spec(1);
  compacted.config = {{"cleanup.policy", "compact"}};
  EXPECT_EQ(create("a", compacted).error().code, Errc::kInvalidArgument);
  EXPECT_EQ(alter("a", {}).error().code, Errc::kNotFound);
  EXPECT_EQ(remove("a").error().code, Errc::kNotFound);
  ASSERT_TRUE(create("a", spec(1)));
  EXPECT_EQ(create("a", spec(1)).error().code, Errc::kAlreadyExists);
  EXPECT_EQ(create("a/b", spec(1)).error().code, Errc::kInvalidArgument);
  TopicChange fewer;
  fewer.partitions = 1;
  EXPECT_EQ(alter("a", fewer).error().code, Errc::kInvalidArgument);
}

TEST_F(StoredTopicsTest, AConfigChangeReachesTheRunningPartitions) {
  ASSERT_TRUE(create("a", spec(20)));
  const FakePartition* const before = partition("a", 19);
  TopicChange change;
  change.config = {{"moraine.write.quota", "777"}};
  change.consumers = {{"billing", TopicConsumer{true}}};
  const auto altered = alter("a", change);
  ASSERT_TRUE(altered) << altered.error().message();
  EXPECT_EQ((*altered)->config.at("moraine.write.quota"), "777");
  EXPECT_EQ(partition("a", 19), before) << "without a restart";
  EXPECT_EQ(partition("a", 19)->config.write_bytes_per_second, 777u);
  EXPECT_EQ(partition("a", 0)->config.important_consumers.size(), 1u);
  restart();
  ASSERT_TRUE(world_.run(topics_->wait_running(soon())));
  EXPECT_EQ(partition("a", 19)->config.write_bytes_per_second, 777u);
}

TEST_F(StoredTopicsTest, ATopicGrowsInItsLastTabletAndThenInNewOnes) {
  ASSERT_TRUE(create("a", spec(3)));
  ASSERT_TRUE(create("b", spec(1)));
  const FakePartition* const first = partition("a", 0);
  TopicChange change;
  change.partitions = 21;
  const auto grown = alter("a", change);
  ASSERT_TRUE(grown) << grown.error().message();
  EXPECT_EQ(running("a"), 21u);
  EXPECT_EQ(partition("a", 0), first) << "running partitions continue";
  EXPECT_EQ(fake_.boots, 3u);
  TopicsReport report = topics_->report();
  EXPECT_EQ(report.topics[0].partitions[15].tablet, topic_tablet(0));
  EXPECT_EQ(report.topics[0].partitions[16].tablet, topic_tablet(2));
  cut_power();
  ASSERT_TRUE(world_.run(topics_->wait_running(soon())));
  EXPECT_EQ(running("a"), 21u);
  EXPECT_EQ(topics_->report().topics[0].partitions[16].tablet, topic_tablet(2));
}

TEST_F(StoredTopicsTest, APartitionThatCannotBeAddedComesWithTheNextIncarnation) {
  ASSERT_TRUE(create("a", spec(1)));
  fake_.adds_to_fail = 1;
  TopicChange change;
  change.partitions = 4;
  ASSERT_TRUE(alter("a", change));
  EXPECT_EQ(running("a"), 4u);
  EXPECT_EQ(fake_.boots, 2u);
}

TEST_F(StoredTopicsTest, ATabletThatEndsIsStartedAgain) {
  ASSERT_TRUE(create("a", spec(2)));
  const TopicId id = topics_->find("a")->id;
  fake_.boots_to_fail = 3;
  fake_.end(topic_tablet(0));
  world_.run_for(10ms);
  EXPECT_FALSE(topics_->partition(id, 0));
  EXPECT_EQ(topics_->report().tablets_starting, 1u);
  ASSERT_TRUE(world_.run(topics_->wait_running(soon())));
  EXPECT_TRUE(topics_->partition(id, 0));
  EXPECT_EQ(fake_.boots, 5u);
}

TEST_F(StoredTopicsTest, ARemovedTopicDisappearsAtOnceAndItsTabletsSoon) {
  const auto first = create("a", spec(40));
  ASSERT_TRUE(remove("a"));
  EXPECT_FALSE(topics_->find("a"));
  EXPECT_FALSE(topics_->find((*first)->id));
  EXPECT_FALSE(topics_->partition((*first)->id, 0));
  world_.run_for(1s);
  EXPECT_EQ(fake_.removed.size(), 3u);
  EXPECT_EQ(topics_->report().tablets_being_deleted, 0u);
  EXPECT_TRUE(fake_.running.empty());
  const auto second = create("a", spec(1));
  ASSERT_TRUE(second);
  EXPECT_NE((*second)->id, (*first)->id);
  restart();
  world_.run_for(1s);
  EXPECT_EQ(fake_.removed.size(), 3u) << "nothing is deleted twice";
}

TEST_F(StoredTopicsTest, ARemovalThatAPowerCutInterruptsIsTakenUpAgain) {
  ASSERT_TRUE(create("a", spec(40)));
  ASSERT_TRUE(create("b", spec(1)));
  fake_.removals_fail = true;
  ASSERT_TRUE(remove("a"));
  world_.run_for(3s);
  EXPECT_EQ(topics_->report().tablets_being_deleted, 3u);
  cut_power();
  EXPECT_FALSE(topics_->find("a"));
  EXPECT_TRUE(topics_->find("b"));
  EXPECT_EQ(topics_->report().tablets_being_deleted, 3u);
  fake_.removals_fail = false;
  world_.run_for(20s);
  EXPECT_EQ(topics_->report().tablets_being_deleted, 0u);
  EXPECT_EQ(fake_.removed,
            (std::multiset<TabletId>{topic_tablet(0), topic_tablet(1), topic_tablet(2)}));
}

Task<void> create_into(StoredTopics& topics, std::string name, TopicSpec with,
                       Result<TopicPtr>& out) {
  out = co_await topics.create(std::move(name), std::move(with));
}
Task<void> remove_into(StoredTopics& topics, std::string name, Result<void>& out) {
  out = co_await topics.remove(std::move(name));
}

TEST_F(StoredTopicsTest, APowerCutAtAnyMomentOfARemovalLeavesTheTopicOrNothing) {
  int kept = 0;
  for (int step = 0; step < 40; ++step) {
    const std::string name = fmt::format("t{}", step);
    ASSERT_TRUE(create(name, spec(20)));
    Result<void> removed = fail(Errc::kUnavailable, "not answered");
    spawn(remove_into(*topics_, name, removed));
    world_.run_for(step * step * 3us);  // Close together at first.
    cut_power();
    ASSERT_TRUE(world_.run(topics_->wait_running(soon())));
    if (removed) {
      EXPECT_FALSE(topics_->find(name)) << step;
    }
    if (topics_->find(name)) {
      ++kept;
      EXPECT_EQ(running(name), 20u);
      ASSERT_TRUE(remove(name));
    }
    world_.run_for(1s);
    EXPECT_EQ(topics_->report().tablets_being_deleted, 0u);
    EXPECT_EQ(std::set<TabletId>(fake_.removed.begin(), fake_.removed.end()).size(),
              2u * static_cast<std::size_t>(step + 1));
    EXPECT_TRUE(fake_.running.empty());
  }
  EXPECT_GT(kept, 0) << "some cuts were before the removal was durable";
  EXPECT_LT(kept, 40) << "and some after it";
}

TEST_F(StoredTopicsTest, ATopicThatIsStoredButDoesNotRunIsNotSaidToBeRefused) {
  fake_.boots_to_fail = 1'000'000;
  const auto made = create("slow", spec(1));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Errc::kTimeout) << made.error().message();
  EXPECT_TRUE(topics_->find("slow"));
  fake_.boots_to_fail = 0;
  EXPECT_TRUE(world_.run(topics_->wait_running(soon())));
  EXPECT_EQ(create("slow", spec(1)).error().code, Errc::kAlreadyExists);
}

// Another node led the scheme and changed it: this node follows the change when it leads again.
TEST_F(StoredTopicsTest, WhatTheSchemeSaysIsMadeTrueWhenItStartsAnew) {
  ASSERT_TRUE(create("gone", spec(1)));
  ASSERT_TRUE(create("grown", spec(1)));
  const TopicId grown = topics_->find("grown")->id;
  SchemeOptions options;
  options.first_tablet = kFirstTopicTabletId;
  auto other = world_.run(
      Scheme::boot(storage_.world(), storage_,
                   TabletInfo::simple(kSchemeTabletId, kTestGroup, kKeyValueChannels), options));
  ASSERT_TRUE(other);
  RemoveNode removal;
  removal.path = "gone";
  removal.id = topics_->find("gone")->id;
  removal.deleted = {TabletInfo::simple(topic_tablet(0), kTestGroup, kQueueTabletChannels)};
  ASSERT_TRUE(world_.run((*other)->remove(removal)));
  AlterNode growth;
  growth.path = "grown";
  growth.id = grown;
  growth.record = [](TabletId) {
    TopicRecord record;
    const GroupId groups[] = {kTestGroup};
    record.tablets = spread({}, 9, 16, topic_tablet(1), groups);
    return encode_topic(record);
  };
  ASSERT_TRUE(world_.run((*other)->alter(growth)));
  EXPECT_EQ(create("new", spec(1)).error().code, Errc::kUnknownOutcome);
  world_.run_for(5s);
  EXPECT_FALSE(topics_->find("gone"));
  EXPECT_EQ(fake_.removed.count(topic_tablet(0)), 1u);
  EXPECT_EQ(topics_->find(grown)->partitions, 9u);
  EXPECT_EQ(running("grown"), 9u);
  EXPECT_TRUE(create("new", spec(1)));
  world_.run((*other)->stop());
}

TEST_F(StoredTopicsTest, ATopicThatCannotBeReadDoesNotKeepTheOthersFromRunning) {
  ASSERT_TRUE(create("good", spec(1)));
  stop();
  auto scheme =
      world_.run(Scheme::boot(storage_.world(), storage_,
                              TabletInfo::simple(kSchemeTabletId, kTestGroup, kKeyValueChannels)));
  CreateNode broken;
  broken.kind = NodeKind::kTopic;
  broken.path = "broken";
  broken.record = [](TabletId) { return Slice::copy_of("of another version"); };
  ASSERT_TRUE(world_.run((*scheme)->create(broken)));
  world_.run((*scheme)->stop());
  start();
  ASSERT_TRUE(world_.run(topics_->wait_running(soon())));
  EXPECT_TRUE(partition("good", 0));
  EXPECT_FALSE(topics_->find("broken"));
  EXPECT_EQ(create("broken", spec(1)).error().code, Errc::kAlreadyExists);
}

TEST_F(StoredTopicsTest, OfManyCreatesOfOneNameExactlyOneSucceeds) {
  TaskScope scope;
  std::vector<Result<TopicPtr>> outcomes(30);
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    scope.spawn(create_into(*topics_, fmt::format("t{}", i % 3), spec(2), outcomes[i]));
  }
  world_.run_for(10s);
  std::size_t made = 0;
  for (const auto& outcome : outcomes) {
    made += outcome ? 1 : 0;
    if (!outcome) {
      EXPECT_EQ(outcome.error().code, Errc::kAlreadyExists);
    }
  }
  EXPECT_EQ(made, 3u);
  EXPECT_EQ(topics_->list().size(), 3u);
  EXPECT_EQ(fake_.running.size(), 3u);
}

TEST_F(StoredTopicsTest, AThousandPartitionsStartABoundedNumberAtOnce) {
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(create(fmt::format("t{}", i), spec(100)));
  ASSERT_TRUE(create("large", spec(kPartitionsPerTopicMax)));
  ASSERT_TRUE(remove("large"));
  world_.run_for(60s);
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(create(fmt::format("one{}", i), spec(1)));
  fake_.booting_most = 0;
  restart();
  EXPECT_EQ(topics_->list().size(), 210u) << "they are known before they run";
  ASSERT_TRUE(world_.run(topics_->wait_running(soon())));
  for (int i = 0; i < 10; ++i) EXPECT_EQ(running(fmt::format("t{}", i)), 100u);
  EXPECT_EQ(fake_.booting_most, kBootsMax);
}

TEST_F(StoredTopicsTest, PartitionsOfANodeAreBounded) {
  partitions_max_ = 20;
  restart();
  ASSERT_TRUE(create("a", spec(12)));
  const auto refused = create("b", spec(9));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kOverloaded);
  ASSERT_TRUE(create("b", spec(8)));
  TopicChange grows;
  grows.partitions = 13;
  const auto not_altered = alter("a", grows);
  ASSERT_FALSE(not_altered);
  EXPECT_EQ(not_altered.error().code, Errc::kOverloaded);
  TopicChange config;
  config.config["retention.ms"] = "1000";
  EXPECT_TRUE(alter("a", config)) << "other changes are not refused";
  ASSERT_TRUE(remove("b"));
  EXPECT_TRUE(alter("a", grows));
  partitions_max_ = 5;
  restart();
  EXPECT_TRUE(world_.run(topics_->wait_running(soon()))) << "what exists runs";
  EXPECT_EQ(running("a"), 13u);
  EXPECT_FALSE(create("c", spec(1)));
}

TEST_F(StoredTopicsTest, TheReportHasTheLagOfConsumers) {
  TopicSpec made = spec(2);
  made.consumers = {{"billing", {true}}, {"idle", {}}};
  ASSERT_TRUE(create("a", made));
  FakePartition* const first = partition("a", 0);
  first->state.start = 10;
  first->state.end = 100;
  first->consumers["billing"].consumer = "billing";
  first->consumers["billing"].offset = 60;
  first->consumers["late"].consumer = "late";
  first->consumers["late"].offset = 3;
  const TopicsReport report = topics_->report();
  EXPECT_TRUE(report.scheme_running);
  EXPECT_EQ(report.tablets_running, 1u);
  ASSERT_EQ(report.topics.size(), 1u);
  ASSERT_EQ(report.topics[0].partitions.size(), 2u);
  const PartitionReport& one = report.topics[0].partitions[0];
  EXPECT_TRUE(one.running);
  ASSERT_EQ(one.consumers.size(), 3u);
  EXPECT_EQ(one.consumers[0].consumer, "billing");
  EXPECT_EQ(one.consumers[0].lag, 40u);
  EXPECT_TRUE(one.consumers[0].important);
  EXPECT_EQ(one.consumers[1].lag, 90u) << "idle has read nothing";
  EXPECT_EQ(one.consumers[2].lag, 90u) << "removed messages do not count";
}

}  // namespace
}  // namespace moraine
